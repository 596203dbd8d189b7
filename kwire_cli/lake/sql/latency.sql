-- Latencies by api and broker, the slowest first; answers that brokers may have held back on purpose come last
select
    coalesce(api, cast(api_key as string)) as api,
    src as address,
    -- capture points may know different nodes of one address
    case when min(broker) = max(broker) then min(broker) end as broker,
    coalesce(delayed, false) as waits,
    count(*) as responses,
    -- later than the request allowed
    count(*) filter (where latency_us > 1000 * cast(wait_ms as bigint)) as late,
    min(latency_us) as min_us,
    cast(percentile_disc(0.5) within group (order by latency_us) as bigint) as p50_us,
    cast(percentile_disc(0.95) within group (order by latency_us) as bigint) as p95_us,
    cast(percentile_disc(0.99) within group (order by latency_us) as bigint) as p99_us,
    max(latency_us) as max_us,
    cast(sum(latency_us) as bigint) as total_us,
    replace(source, '-', ' ') as source
from frames
where kind = 'response' and latency_us is not null
group by all
order by waits, p99_us desc, max_us desc, source, api, address, broker
