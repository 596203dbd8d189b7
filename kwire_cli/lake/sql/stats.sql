-- Requests, bytes, errors and latencies by api and version; waits are those of answers that brokers may have held back
with timed as (
    select *, case when not delayed then latency_us end as answer_us, case when delayed then latency_us end as delayed_us
    from frames
)
select
    coalesce(api, cast(api_key as string)) as api,
    api_version,
    count(*) filter (where kind = 'request') as requests,
    count(*) filter (where kind = 'response') as responses,
    cast(sum(size) filter (where kind = 'request') as bigint) as request_bytes,
    cast(sum(size) filter (where kind = 'response') as bigint) as response_bytes,
    cast(sum(cardinality(errors)) as bigint) as errors,
    cast(percentile_disc(0.5) within group (order by answer_us) as bigint) as p50_us,
    cast(percentile_disc(0.95) within group (order by answer_us) as bigint) as p95_us,
    cast(percentile_disc(0.99) within group (order by answer_us) as bigint) as p99_us,
    max(answer_us) as max_us,
    cast(percentile_disc(0.5) within group (order by delayed_us) as bigint) as wait_p50_us,
    cast(percentile_disc(0.95) within group (order by delayed_us) as bigint) as wait_p95_us,
    cast(percentile_disc(0.99) within group (order by delayed_us) as bigint) as wait_p99_us,
    max(delayed_us) as wait_max_us,
    count(*) filter (where throttle_ms > 0) as throttled,
    cast(sum(throttle_ms) filter (where throttle_ms > 0) as bigint) as throttle_ms,
    replace(source, '-', ' ') as source
from timed
-- a response whose request is missing has an api only by a guess
where kind = 'request' or (kind = 'response' and (request_frame is not null or api_key is null))
group by all
order by coalesce(request_bytes, 0) + coalesce(response_bytes, 0) desc, requests desc, source, api, api_version
