-- One row for each open transaction in the log of a partition that its coordinator does not know of or does not end, and
-- for each partition whose readers of committed records such a transaction holds back.
select
    topic_partition,
    producer_id as log_producer_id,
    epoch as log_epoch,
    transactional_id as log_id,
    first_offset,
    end_offset,
    end_offset - first_offset as behind,
    since,
    coordinator,
    case when is_hanging then 'without this partition' end as lacks,
    end_offset - first_offset as weight,
    [place] as evidence
from open_in_logs
where coalesce(is_hanging, open_s >= $max_timeout_s)
union all by name
select
    topic_partition,
    span_s,
    responses,
    clients,
    last_stable_offset,
    high_watermark - last_stable_offset as behind,
    high_watermark,
    holder,
    transactional_id as holder_id,
    producer_id,
    epoch,
    case when is_strange then 'did not add it to a transaction' else 'has not ended its transaction' end as what_it_did,
    span_s as weight,
    evidence
from held_transactions
where is_hanging
