-- One row for each group of consumers with members that never get a partition.
with idle as (
    select m.group_id, m.member, m.name, m.without_s
    from group_members m
    join groups g using (group_id)
    where g.is_consuming and m.partitions is not null and not m.has_held and m.without_s >= $least_s
),
waiting as (
    select group_id, count(*) as members, max(without_s) as longest_s, list_sort(list(distinct name)) as names
    from idle
    group by group_id
),
held as (
    select distinct group_id, unnest(partitions) as part from group_members where has_held and ending is null
),
holding as (
    select
        group_id, count(*) as partitions, (
            select count(*) from group_members m where m.group_id = h.group_id and m.has_held and m.ending is null
        ) as members,
        partition_names(list(part order by part)) as names
    from held h
    group by group_id
)
select
    w.group_id,
    w.members,
    w.longest_s,
    w.names,
    h.members as others,
    h.partitions,
    h.names as partition_names,
    h.partitions > h.members or null as is_spread_badly,
    h.partitions is null or null as is_without_any,
    case
        when h.partitions is null and g.protocol = 'share' then 'share'
        when h.partitions is null and g.protocol is distinct from 'streams' then 'nobody'
    end as in_case,
    w.members as weight,
    (
        select evidence(a.place)
        from group_events a
        join idle i on i.group_id = a.group_id and i.member = a.member
        where a.group_id = w.group_id and a.kind = 'assignment'
    ) as evidence
from waiting w
join groups g using (group_id)
left join holding h using (group_id)
