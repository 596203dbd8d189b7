-- Requests, bytes, errors, latencies and clients by topic; a frame counts under each of its topics
with by_topic as (
    select
        explode(topics) as topic,
        replace(source, '-', ' ') as source,
        kind,
        size,
        errors,
        client_id,
        -- those that the broker may have held back on purpose do not count
        case when not delayed then latency_us end as latency_us
    from frames
    where kind in ('request', 'response')
)
select
    topic,
    count(*) filter (where kind = 'request') as requests,
    count(*) filter (where kind = 'response') as responses,
    cast(sum(size) filter (where kind = 'request') as bigint) as request_bytes,
    cast(sum(size) filter (where kind = 'response') as bigint) as response_bytes,
    cast(sum(cardinality(errors)) as bigint) as errors,
    count(distinct client_id) as clients,
    count(latency_us) as timed,
    cast(percentile_disc(0.5) within group (order by latency_us) as bigint) as p50_us,
    cast(percentile_disc(0.99) within group (order by latency_us) as bigint) as p99_us,
    max(latency_us) as max_us,
    source
from by_topic
group by all
order by coalesce(request_bytes, 0) + coalesce(response_bytes, 0) desc, requests desc, source, topic
