-- One row for each client and partition that it asked for an offset that the log does not have. If an earlier answer
-- has the offset in the log, the log has changed since.
with refused as (
    select
        client, client_host, broker_address, topic_partition, max(software) as software, count(*) as answers,
        arg_min(fetch_offset, place.ordinal) as fetch_offset,
        arg_max(connection, place.ordinal) as connection, max(place.ordinal) as last_ordinal, min(place.ordinal) as ordinal, evidence(place) as evidence
    from fetched
    where error_code = 1 and fetch_offset is not null and not is_internal
    group by client, client_host, broker_address, topic_partition
),
known_logs as (
    select broker_address, topic_partition, place.ordinal as ordinal, log_start_offset, high_watermark
    from fetched
    where error_code = 0 and log_start_offset >= 0 and high_watermark >= 0
),
logs as (
    select
        r.broker_address, r.topic_partition, r.ordinal,
        arg_min(k.log_start_offset, k.ordinal) filter (where k.ordinal > r.ordinal) as start_after,
        arg_max(k.log_start_offset, k.ordinal) filter (where k.ordinal < r.ordinal) as start_before,
        arg_min(k.high_watermark, k.ordinal) filter (where k.ordinal > r.ordinal) as end_after,
        arg_max(k.high_watermark, k.ordinal) filter (where k.ordinal < r.ordinal) as end_before
    from refused r
    join known_logs k using (broker_address, topic_partition)
    group by r.broker_address, r.topic_partition, r.ordinal
),
starts as (
    select r.topic_partition, r.ordinal, arg_min(l.listed_offset, l.place.ordinal) as first_offset
    from refused r
    join listed_offsets l on l.topic_partition = r.topic_partition and l.place.ordinal > r.ordinal
    where l.asked_time = -2 and l.listed_offset >= 0
    group by r.topic_partition, r.ordinal
),
resets as (
    select
        r.client, r.client_host, r.topic_partition, r.ordinal, arg_min(l.asked_time, l.place.ordinal) as asked_time,
        arg_min(l.listed_offset, l.place.ordinal) as listed_offset, arg_min(l.place, l.place.ordinal) as place
    from refused r
    join listed_offsets l using (client, client_host, topic_partition)
    where l.listed_offset >= 0 and l.place.ordinal > r.ordinal
    group by r.client, r.client_host, r.topic_partition, r.ordinal
)
select
    r.client,
    r.software,
    r.topic_partition,
    r.fetch_offset,
    case when r.answers > 1 then r.answers end as answers,
    coalesce(r.fetch_offset between k.start_before and k.end_before, false) as is_changed,
    coalesce(k.start_after, s.first_offset, case when not is_changed then k.start_before end) as log_start,
    coalesce(k.end_after, case when not is_changed then k.end_before end) as log_end,
    case when is_changed and log_start is null then k.start_before end as old_start,
    case when is_changed and log_start is null then k.end_before end as old_end,
    case when e.asked_time = -2 then e.listed_offset end as earliest_offset,
    case when e.asked_time = -1 then e.listed_offset end as latest_offset,
    case when e.asked_time >= 0 then e.listed_offset end as offset_of_time,
    case
        when e.asked_time is null and t.closed_by = 'client' and not exists (
            select 1 from fetched f
            where f.client = r.client and f.topic_partition = r.topic_partition and f.place.ordinal > r.last_ordinal
        ) then true
    end as has_stopped,
    case
        when coalesce(log_start, k.start_before) is not null then latest_offset - greatest(r.fetch_offset, 0)
    end as skipped,
    nullif(greatest(log_start - r.fetch_offset, skipped, 0), 0) as lost,
    r.answers as weight,
    list_append(r.evidence, e.place) as evidence
from refused r
left join (select connection, closed_by from connections) t using (connection)
left join logs k using (broker_address, topic_partition, ordinal)
left join starts s using (topic_partition, ordinal)
left join resets e using (client, client_host, topic_partition, ordinal)
