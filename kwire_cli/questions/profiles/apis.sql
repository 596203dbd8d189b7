-- One row for each group of clients and api that they use: versions, requests, mean sizes and latencies. `unread` counts
-- requests that could not be read.
with named as (
    select
        case $by when 'software' then software_name when 'client' then client_name else 'all clients' end as name,
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
    avg(request_size) as request_bytes,
    coalesce(sum(response_size), 0) / nullif(count(request_size), 0) as response_bytes,
    percentile_disc(0.5) within group (order by latency_us) as p50_us,
    percentile_disc(0.99) within group (order by latency_us) as p99_us
from named
group by name, api_key
order by name, api_key
