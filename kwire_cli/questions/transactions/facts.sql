-- One row: the transactions by result, and the longest.
with chosen as (
    select *
    from transactions
    where (len($ids) = 0 or transactional_id in $ids) and result = coalesce($result, result)
)
select
    (select count(distinct name) from chosen) as names,
    (
        select map_from_entries(list((result, number) order by list_position(['committed', 'aborted', 'open', 'unknown'], result)))
        from (select result, count(*) as number from chosen group by result)
    ) as results,
    (select max(duration_s) from chosen) as longest_s
