-- One row for each group of clients and api that they use: versions, requests, mean sizes and latencies. `unread` counts
-- requests that could not be read.
with named as (
    select
        names[$by] as name,
        api, api_key, api_version, request_size, response_size, latency_us, is_read
    from profile_calls
    where not is_of_broker
)
select
    name,
    api_key,
    max(api) as api,
    list(distinct api_version order by api_version) as versions,
    count(*) as requests,
    count(request_size) as sized,
    count(*) filter (where not is_read) as unread,
    round(avg(request_size), 1) as request_bytes,
    round(coalesce(sum(response_size), 0) / nullif(count(request_size), 0), 1) as response_bytes,
    percentile_disc(0.5) within group (order by latency_us) / 1e6 as p50_s,
    percentile_disc(0.99) within group (order by latency_us) / 1e6 as p99_s
from named
group by name, api_key
order by name, api_key
