-- How many latencies are in each step up to a bound: 1, 2 or 5 microseconds is step 0, 1 or 2, 10 microseconds is step 3.
-- Step -1 has the negative latencies.
with timed as (select coalesce(delayed, false) as is_wait, latency_us from messages where latency_us is not null),
powers as (
    select is_wait, latency_us, length(latency_us::varchar) - 1 as power from timed where latency_us > 0
),
steps as (
    select
        is_wait,
        3 * power + case
            when latency_us <= 10 ** power then 0
            when latency_us <= 2 * 10 ** power then 1
            when latency_us <= 5 * 10 ** power then 2
            else 3
        end as step
    from powers
    union all
    select is_wait, case when latency_us < 0 then -1 else 0 end from timed where latency_us <= 0
)
select is_wait, step, count(*) as latencies
from steps
group by is_wait, step
order by is_wait, step
