-- One row for each client that gets empty answers below the high watermark, and each reason for them.
with empty as (
    select
        *,
        case
            when isolation_level = 1 and last_stable_offset between 0 and fetch_offset then 'transaction'
            when throttle_ms > 0 then 'throttle'
            when max_bytes > 0 and 2 * records_size_of_all > max_bytes then 'size'
            else 'other'
        end as reason
    from fetched
    where not is_internal and is_sound and error_code = 0 and records_size = 0 and fetch_offset >= 0
        and high_watermark > fetch_offset and preferred_read_replica < 0
),
offsets as (
    select
        client, client_host, reason, topic_partition, fetch_offset, max(software) as software, count(*) as answers,
        coalesce(seconds_between(min(response_time), max(response_time)), 0) as span_s,
        max(high_watermark) as high_watermark, max(last_stable_offset) as last_stable_offset,
        max(throttle_ms) as throttle_ms, max(max_bytes) as max_bytes, evidence(place) as places
    from empty
    group by client, client_host, reason, topic_partition, fetch_offset
    having count(*) >= $least_answers and (reason = 'transaction' or span_s >= $least_s)
),
ranked as (
    select
        *,
        row_number() over (
            partition by client, client_host, reason order by span_s desc, answers desc, topic_partition, fetch_offset
        ) as nth
    from offsets
),
totals as (
    select
        client, client_host, reason, nullif(count(*) - 1, 0) as more_offsets,
        list_sort(list(distinct topic_partition)) as topic_partitions, sum(answers) as weight
    from offsets
    group by client, client_host, reason
)
select
    r.client,
    r.software,
    r.reason,
    r.topic_partition,
    r.fetch_offset,
    r.answers,
    r.span_s,
    r.high_watermark,
    case when r.reason = 'transaction' then r.last_stable_offset end as stable_offset,
    case when r.reason = 'throttle' then r.throttle_ms / 1000 end as throttle_s,
    case when r.reason = 'size' then r.max_bytes end as max_bytes,
    case when r.reason = 'other' then r.answers end as unexplained,
    case when r.reason = 'transaction' then 'transactions' end as command,
    t.more_offsets,
    t.topic_partitions,
    t.weight,
    r.places as evidence
from ranked r
join totals t using (client, client_host, reason)
where r.nth = 1
