-- One row for each group: what it is, and how often and how long it rebalanced. Rebalances by which a group forms
-- do not count.
with again as (
    select r.*, coalesce(t.cause, 'unknown') as first_cause
    from rebalances r
    left join rebalance_triggers t on t.group_id = r.group_id and t.rebalance = r.number and t.number = 0
    where not r.is_forming
),
causes as (
    select group_id, first_cause, count(*) as times, min(number) as first_number
    from again
    group by group_id, first_cause
),
caused as (
    select group_id, map_from_entries(list((first_cause, times) order by first_number)) as causes
    from causes
    group by group_id
),
spent as (
    select
        group_id, count(*) as rebalances, round(sum(seconds), 6) as total_s, max(seconds) as longest_s,
        round(sum(stopped_s), 6) as stopped_s
    from again
    group by group_id
),
joined as (
    select group_id, count(*) as members, count(*) filter (where ending is null) as members_now
    from group_members
    where is_let_in
    group by group_id
)
select
    g.group_id as "group",
    coalesce(g.protocol, '') as protocol,
    g.protocol_type,
    coalesce(g.assignor, '') as assignor,
    [c.address || coalesce(' (node ' || c.broker || ')', '') for c in g.coordinators] as coordinator_names,
    array_to_string(coordinator_names, ', ') as coordinator,
    coalesce(j.members, 0) as members,
    coalesce(j.members_now, 0) as members_now,
    coalesce(s.rebalances, 0) as rebalances,
    g.first_generation as generation_first,
    g.last_generation as generation_last,
    case when g.last_time is not null then coalesce(s.total_s, 0) end as rebalance_seconds,
    case when g.last_time is not null then coalesce(s.longest_s, 0) end as longest_seconds,
    case when g.last_time is not null then coalesce(s.stopped_s, 0) end as stopped_seconds,
    coalesce(c.causes, map()) as causes,
    g.first_time as first,
    g.last_time as last,
    nullif(
        concat_ws(
            ', ', g.protocol || case when g.is_consuming then '' else ' (' || g.protocol_type || ')' end, g.assignor
        ),
        ''
    ) as kind,
    case when g.protocol = 'classic' then 'generation' else 'epoch' end as generation_word,
    nullif(g.last_generation, g.first_generation) as generation_after
from groups g
left join spent s using (group_id)
left join caused c using (group_id)
left join joined j using (group_id)
where len($names) = 0 or g.group_id in $names
order by g.group_id
