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
        max(throttle_ms) as throttle_ms, max(max_bytes) as max_bytes, evidence(place) as places,
        {'span_s': span_s, 'answers': answers} as worst
    from empty
    group by client, client_host, reason, topic_partition, fetch_offset
    having count(*) >= $least_answers and (reason = 'transaction' or span_s >= $least_s)
)
select
    client,
    max(software) as software,
    reason,
    arg_max(topic_partition, worst) as topic_partition,
    arg_max(fetch_offset, worst) as fetch_offset,
    arg_max(answers, worst) as answers,
    arg_max(span_s, worst) as span_s,
    arg_max(high_watermark, worst) as high_watermark,
    case when reason = 'transaction' then arg_max(last_stable_offset, worst) end as stable_offset,
    case when reason = 'throttle' then arg_max(throttle_ms, worst) / 1000 end as throttle_s,
    case when reason = 'size' then arg_max(max_bytes, worst) end as max_bytes,
    case when reason = 'other' then arg_max(answers, worst) end as unexplained,
    case when reason = 'transaction' then 'transactions' end as command,
    nullif(count(*) - 1, 0) as more_offsets,
    list_sort(list(distinct topic_partition)) as topic_partitions,
    sum(offsets.answers) as weight,
    arg_max(places, worst) as evidence
from offsets
group by client, client_host, reason
