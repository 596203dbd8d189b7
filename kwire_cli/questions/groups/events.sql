-- One row for each event of a group, in the order of time.
select
    e.time,
    e.group_id as "group",
    e.generation,
    e.kind as event,
    coalesce(e.member, '') as member,
    coalesce(e.client, '') as client,
    coalesce(e.reason, '') as reason,
    case
        when a.group_id is null then coalesce(e.detail, '')
        else concat_ws(
            '; ',
            coalesce(nullif(few(partition_names(a.partitions)), ''), 'nothing'),
            case when a.gained not in ([], a.partitions) then 'gains ' || few(partition_names(a.gained)) end,
            case when a.lost <> [] then 'loses ' || few(partition_names(a.lost)) end
        )
    end as detail,
    e.seconds,
    e.partitions,
    e.place.frame as frame,
    e.place.stream as stream,
    e.place.capture as capture,
    e.place.file as file,
    e.place.line as line,
    e.place.position as offset
from group_events e
left join group_assignments a
    on e.kind = 'assignment' and a.group_id = e.group_id and a.member = e.member and a.ordinal = e.ordinal
    and a.place.ordinal = e.place.ordinal
where len($names) = 0 or e.group_id in $names
order by e.group_id, e.number
