-- One row for each transaction, by its begin.
select
    transactional_id, producer_id, epoch, began as "begin", ended as "end", duration_s as duration_seconds, result,
    ended_by, partitions, groups as offsets_groups, coalesce(written['batches'], 0) as batches,
    coalesce(written['records'], 0) as records, coalesce(written['bytes'], 0) as bytes, errors, clients,
    timeout_s as timeout_seconds, is_in_logs
from transactions
where (len($ids) = 0 or transactional_id in $ids) and result = coalesce($result, result)
order by ordinal
