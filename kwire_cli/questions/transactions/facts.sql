-- One row for traffic and one for logs: the transactions by result, and the longest.
with chosen as (
    select *
    from transactions
    where (len($ids) = 0 or transactional_id in $ids) and result = coalesce($result, result)
)
select
    is_in_logs,
    count(distinct name) as names,
    (
        select map_from_entries(list((result, number) order by list_position(['committed', 'aborted', 'open', 'unknown'], result)))
        from (select result, count(*) as number from chosen c where c.is_in_logs = chosen.is_in_logs group by result)
    ) as results,
    max(duration_s) as longest_s
from chosen
group by is_in_logs
