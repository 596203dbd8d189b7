-- One row for each event of a group, in the order of time.
select
    time,
    group_id as "group",
    generation,
    kind as event,
    coalesce(member, '') as member,
    coalesce(client, '') as client,
    coalesce(reason, '') as reason,
    case
        when kind <> 'assignment' then coalesce(detail, '')
        else concat_ws(
            '; ',
            coalesce(nullif(few(partition_names(assigned)), ''), 'nothing'),
            case when gained not in ([], assigned) then 'gains ' || few(partition_names(gained)) end,
            case when lost <> [] then 'loses ' || few(partition_names(lost)) end
        )
    end as detail,
    seconds,
    partitions,
    place.* exclude (ordinal, what, "time", packet) rename (position as "offset")
from group_events
where len($names) = 0 or group_id in $names
order by group_id, number
