-- A row for each api and day: how many requests were answered, how many without an error, and how fast.
select
    day,
    api,
    count(*) as requests,
    count(response_frame) as responses,
    count(case when cardinality(errors) > 0 then 1 end) as failed,
    cast(percentile_disc(0.5) within group (order by case when not delayed then latency_us end) as bigint) as p50_us,
    cast(percentile_disc(0.99) within group (order by case when not delayed then latency_us end) as bigint) as p99_us,
    max(case when not delayed then latency_us end) as max_us
from exchanges
group by day, api
