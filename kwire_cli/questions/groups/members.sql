-- One row for each member of a group, in the order in which they joined.
select
    m.group_id as "group",
    coalesce(m.client, regexp_replace(m.name, ' \(.{1,8}\)$', '')) as client,
    m.member,
    coalesce(m.host, '') as host,
    m.instance_id as instance,
    m.joined,
    m.ended,
    len(m.partitions) as partitions,
    case when g.last_time is not null and (m.partitions is not null or m.without_s > 0) then m.without_s end
        as without_seconds,
    coalesce(m.ending, '') as "end",
    m.rebalance_timeout_s as rebalance_timeout_seconds,
    m.session_timeout_s as session_timeout_seconds,
    m.first_time as first,
    m.last_time as last
from group_members m
join groups g using (group_id)
where m.is_let_in and (len($names) = 0 or m.group_id in $names)
order by m.group_id, coalesce(m.joined, m.first_time) nulls first, m.member
