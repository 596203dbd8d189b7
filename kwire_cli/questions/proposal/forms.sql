-- A row is a form of one kind of message, or of all: its bytes in all, per message, and by time. Sizes are of frames.
select
    coalesce(p.message, 'all messages') as message,
    form,
    count(*) as messages,
    sum(size) as bytes,
    sum(size - before) as difference,
    round(sum(size - before) / sum(before), 6) as share,
    round(avg(size), 3) as per_message,
    percentile_cont(0.5) within group (order by size) as p50,
    percentile_cont(0.99) within group (order by size) as p99,
    max(size) as largest,
    round(sum(size - before) / nullif($seconds, 0), 3) as per_second,
    round(86400 * sum(size - before) / nullif($seconds, 0)) as per_day
from prices as p
group by grouping sets ((p.message, form, number), (form, number))
having grouping(p.message) = 0 or count(distinct p.message) > 1
order by grouping(p.message), p.message, number
