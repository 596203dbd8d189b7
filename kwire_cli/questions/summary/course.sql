-- One row: times, requests, bytes and latencies of all traffic. Latencies leave out what a broker holds back on purpose.
with seconds as (
    select
        date_trunc('second', time) as second,
        count(*) filter (where kind = 'request') as requests,
        coalesce(sum(size) filter (where kind in ('request', 'response')), 0)::bigint as bytes
    from frames
    where time is not null
    group by second
),
timed as (select latency_us from calls where not delayed and latency_us is not null)
select
    (select min(time) from frames) as first_time,
    (select max(time) from frames) as last_time,
    (select count(*) from frames where kind = 'request') as requests,
    nullif((select sum(size)::bigint from frames where kind in ('request', 'response')), 0) as bytes,
    (select count(*) from frames where kind in ('request', 'response') and missing_bytes > 0) as cut_frames,
    nullif((select max(requests) from seconds), 0) as peak_requests_per_second,
    (select arg_min(second, second) from seconds where requests = (select max(requests) from seconds)) as peak_second,
    nullif((select max(bytes) from seconds), 0) as peak_bytes_per_second,
    (select percentile_disc(0.5) within group (order by latency_us) from timed) / 1e6 as latency_p50_seconds,
    (select percentile_disc(0.99) within group (order by latency_us) from timed) / 1e6 as latency_p99_seconds
