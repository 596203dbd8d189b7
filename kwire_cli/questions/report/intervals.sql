-- One row for each interval of time and api, one for each interval (without an api), and one for all calls (without a
-- number): requests, bytes, errors, and percentiles of what brokers took for calls that they do not hold back on purpose.
-- Intervals have the least of some round widths with which there are at most 160; their numbers count from 1970.
with span as (select epoch_us(max(time)) - epoch_us(min(time)) as length_us from frames),
widths as (
    select unnest([1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 864e5])
        ::bigint * 1000 as width_us
),
chosen as (
    select coalesce(min(w.width_us), max(w.width_us + s.length_us // 160)) as width_us
    from span s
    left join widths w on w.width_us * 160 >= s.length_us
),
timed as (
    select
        c.api,
        epoch_us(c.request_time) // w.width_us as number,
        w.width_us,
        len(c.errors) > 0 as has_errors,
        coalesce(c.request_size, 0) + coalesce(c.response_size, 0) as size,
        case when not c.delayed then c.served_us end as served_us
    from calls c
    cross join chosen w
    where c.request_time is not null
)
select
    number,
    api,
    max(width_us) as width_us,
    count(*) as requests,
    count(*) filter (where has_errors) as errors,
    sum(size)::bigint as bytes,
    percentile_disc(0.5) within group (order by served_us) as p50_us,
    percentile_disc(0.99) within group (order by served_us) as p99_us
from timed
group by grouping sets ((number, api), (number), ())
order by number, requests desc, api
