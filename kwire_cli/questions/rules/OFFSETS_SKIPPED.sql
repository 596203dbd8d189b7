-- One row for each group and partition whose committed offset was below the start of the log, so that a client went on
-- at another offset without an error.
with events as (
    select
        client, client_host, topic_partition, group_id, committed_offset, null as fetch_offset, null as log_start,
        software, place
    from found_offsets
    where committed_offset >= 0
    union all
    select
        client, client_host, topic_partition, null, null, fetch_offset,
        case when log_start_offset >= 0 then log_start_offset end, software, place
    from fetched
    where fetch_offset >= 0 and not is_internal
),
followed as (
    select
        *,
        first_value(fetch_offset ignore nulls) over following as first_offset,
        first_value(log_start ignore nulls) over following as log_start_offset,
        first_value(case when fetch_offset is not null then place end ignore nulls) over following as first_place
    from events
    window following as (
        partition by client, client_host, topic_partition order by place.ordinal
        rows between 1 following and unbounded following
    )
)
select
    group_id,
    client,
    max(software) as software,
    topic_partition,
    arg_min(committed_offset, place.ordinal) as committed_offset,
    arg_min(first_offset, place.ordinal) as first_offset,
    arg_min(log_start_offset, place.ordinal) as log_start_offset,
    arg_min(first_offset - committed_offset, place.ordinal) as skipped,
    skipped as weight,
    [arg_min(place, place.ordinal), arg_min(first_place, place.ordinal)] as evidence
from followed
where committed_offset is not null and first_offset > committed_offset and log_start_offset > committed_offset
group by group_id, client, client_host, topic_partition
