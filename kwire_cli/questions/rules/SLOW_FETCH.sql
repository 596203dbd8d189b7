-- One row for each client that waits for fetch.min.bytes.
with waiting as (
    select *, records_size between 1 and min_bytes - 1 and latency_us >= 1000 * $waited_share * wait_ms as is_late
    from fetches
    where not is_internal and min_bytes > 1 and wait_ms >= $least_wait_ms and latency_us is not null
)
select
    client,
    max(software) as software,
    count(*) as fetches,
    count(*) filter (where is_late) as late,
    max(wait_ms) filter (where is_late) / 1000 as wait_s,
    max(min_bytes) filter (where is_late) as min_bytes,
    max(records_size) filter (where is_late) as most_bytes,
    late as weight,
    evidence(case when is_late then place end) as evidence
from waiting
group by client, client_host
having late >= $least
