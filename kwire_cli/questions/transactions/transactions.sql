-- One row for each transaction, by its begin.
select
    transactional_id, producer_id, epoch, began, ended, duration_s, result, ended_by, partitions, groups, batches,
    records, bytes, errors, clients, timeout_s
from transactions
where (len($ids) = 0 or transactional_id in $ids) and result = coalesce($result, result)
order by ordinal
