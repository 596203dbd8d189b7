-- One row for each assignment of a member, in the order of time.
select
    time,
    group_id as "group",
    generation,
    member,
    coalesce(client, '') as client,
    partitions as count,
    [partition_name(p) for p in assigned] as partitions,
    [partition_name(p) for p in gained] as gained,
    [partition_name(p) for p in lost] as lost,
    place.* exclude (ordinal, what, "time", packet) rename (position as "offset")
from group_events
where kind = 'assignment' and (len($names) = 0 or group_id in $names)
order by group_id, number
