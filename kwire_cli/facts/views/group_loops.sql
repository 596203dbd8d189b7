-- One row for each client of a group that causes rebalances again and again in the same way. What never happens in a
-- healthy group counts from the second time on. Members that do not consume join again by design. A member that is
-- removed again and again is fenced each time.
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
        first(text order by rebalance) as text, first(member order by rebalance) as member, evidence(place) as evidence
    from causes
    group by group_id, client, cause, is_grave
),
compared as (
    select *, coalesce(max(times) filter (where cause = 'session') over (partition by group_id, client), 0) as removals
    from repeated
)
select c.*, g.is_consuming, seconds_between(g.first_time, g.last_time) as span_s
from compared c
join groups g using (group_id)
where (
        (c.is_grave and c.times >= 2)
        or (c.cause = 'restart' and c.times >= 3)
        or (c.cause in ('resubscribed', 'metadata', 'subscription') and c.times >= 3 and g.is_consuming)
    )
    and not (c.cause = 'fenced' and c.removals >= 2)
