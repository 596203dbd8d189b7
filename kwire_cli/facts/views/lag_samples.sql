-- One row for each moment at which the lag at a partition is known: of a group, from its commits, or of a client,
-- from the offsets in its requests (`group_id` is null). A position is compared with the last high watermark before it.
with ends as (
    select
        client, client_host, broker_address, topic, partition, topic_partition, software, response_time as time,
        fetch_offset, high_watermark, records_size, place.ordinal as ordinal,
        row_number() over (
            partition by client, client_host, broker_address, topic_partition order by place.ordinal
        ) as nth
    from fetched
    where not is_internal and error_code = 0 and high_watermark >= 0 and response_time is not null
),
commits as (
    select
        group_id, client, client_host, topic_partition, request_time as time, committed_offset, request_place as place
    from committed
    where committed_offset >= 0
    union all
    select group_id, client, client_host, topic_partition, response_time, committed_offset, place
    from found_offsets
    where committed_offset >= 0
),
readers as (
    select c.group_id, c.client, c.client_host, e.topic, e.partition, c.topic_partition, max(e.software) as software
    from (select distinct group_id, client, client_host, topic_partition from commits) c
    join ends e using (client, client_host, topic_partition)
    group by c.group_id, c.client, c.client_host, e.topic, e.partition, c.topic_partition
),
events as (
    select
        null as group_id, client, client_host, broker_address, topic, partition, topic_partition, software,
        request_time as time, place.ordinal as ordinal, fetch_offset as position, null as end_offset,
        request_place as place
    from fetched
    where not is_internal and fetch_offset >= 0 and request_time is not null
    union all
    select
        null, client, client_host, broker_address, topic, partition, topic_partition, software, time, ordinal,
        case when nth = 1 or records_size = 0 then fetch_offset end, high_watermark, null
    from ends
    union all
    select
        r.group_id, null, null, null, r.topic, r.partition, r.topic_partition, r.software, c.time, c.place.ordinal,
        c.committed_offset, null, c.place
    from commits c
    join readers r using (group_id, client, client_host, topic_partition)
    union all
    select
        r.group_id, null, null, null, r.topic, r.partition, r.topic_partition, r.software, e.time, e.ordinal, null,
        e.high_watermark, null
    from ends e
    join readers r using (client, client_host, topic_partition)
),
known as (
    select
        * replace (
            last_value(position ignore nulls) over before as position,
            last_value(end_offset ignore nulls) over before as end_offset
        ),
        position is not null or (group_id is not null and lead(time) over before is null) as is_sample
    from events
    window before as (
        partition by group_id, client, client_host, broker_address, topic_partition
        order by time, end_offset is null, ordinal
        rows between unbounded preceding and current row
    )
)
select *, greatest(end_offset - position, 0) as lag
from known
where is_sample and position is not null and end_offset is not null
