-- One row for each producer with transactions that took long, in traffic or in logs, and for each partition whose
-- readers of committed records a transaction holds back that has not ended yet. Transactions that timed out are in
-- ABORTED_TRANSACTIONS.
with long as (
    select *
    from transactions
    where duration_s >= coalesce(least($timeout_s, 0.8 * timeout_s), $timeout_s)
        and not (result = 'aborted' and ended_by = 'coordinator' and coalesce(duration_s >= timeout_s, false))
)
select
    case when any_value(transactional_id) is null then name else 'transactional id ' || name end as subject,
    count(*) as transactions,
    max(duration_s) as longest_s,
    round(1000 * arg_max(timeout_s, duration_s))::bigint as timeout_ms,
    any_value(transactional_id) as transactional_id,
    max(duration_s) as weight,
    flatten(list(places[1:2])) as evidence
from long
group by name, is_in_logs
union all by name
select
    'partition ' || topic_partition as subject,
    transactional_id,
    span_s,
    responses,
    clients,
    last_stable_offset,
    high_watermark,
    high_watermark - last_stable_offset as behind,
    holder,
    producer_id,
    epoch,
    case when transactional_id is null then true end as is_open,
    span_s as weight,
    evidence
from held_transactions
where not is_hanging
