-- One row for each cause of a group by which clients cause rebalances again and again in the same way, with the client
-- that does so most often. What never happens in a healthy group counts from the second time on. Members that do not
-- consume join again by design. A member that is removed again and again, or leaves, is fenced each time.
with causes as (
    select
        group_id, client, cause, is_grave, rebalance,
        first(text order by number) as text, first(member order by number) as member, first(place order by number) as place
    from rebalance_triggers
    group by group_id, client, cause, is_grave, rebalance
),
repeated as (
    select
        group_id, client, cause, is_grave, count(*) as times,
        first(text order by rebalance) as text, first(member order by rebalance) as member, evidence(place) as places
    from causes
    group by group_id, client, cause, is_grave
),
compared as (
    select
        r.*, g.is_consuming, seconds_between(g.first_time, g.last_time) as span_s,
        coalesce(
            max(r.times) filter (where r.cause in ('session', 'poll')) over (partition by r.group_id, r.client), 0
        ) as removals
    from repeated r
    join groups g using (group_id)
)
select
    group_id, cause, is_grave, is_consuming, span_s,
    first(client order by times desc, client) as client,
    first(member order by times desc, client) as member,
    first(text order by times desc, client) as text,
    max(times) as times,
    nullif(count(*) - 1, 0) as more_clients,
    flatten(list(places order by times desc, client)) as evidence
from compared
where (
        (is_grave and times >= 2)
        or (cause = 'restart' and times >= 3)
        or (cause in ('resubscribed', 'metadata', 'subscription') and times >= 3 and is_consuming)
    )
    and not (cause = 'fenced' and removals >= 2)
group by group_id, cause, is_grave, is_consuming, span_s
