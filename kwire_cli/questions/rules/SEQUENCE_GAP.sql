-- One row for each client and partition that refused batches of an idempotent producer as out of order. A batch that
-- was acknowledged after its refusal is no gap, and neither is one that follows a batch acknowledged after the refusal.
-- And one row for each gap in a log.
with sent as (
    select
        *,
        last_value(case when error is null and is_answered then last_sequence end ignore nulls) over (
            partition by topic_partition, producer_id, producer_epoch order by response_time, response_frame
            rows between unbounded preceding and 1 preceding
        ) as acknowledged
    from sent_batches
    where crc_valid is null or (crc_valid and producer_id >= 0 and base_sequence >= 0)
),
acknowledgements as (
    select topic_partition, producer_id, producer_epoch, base_sequence, last_sequence, response_time
    from sent
    where is_answered and coalesce(error = 'DUPLICATE_SEQUENCE_NUMBER', true)
),
closed as (
    select topic_partition, producer_id, producer_epoch, base_sequence, response_time from acknowledgements
    union all
    select topic_partition, producer_id, producer_epoch, (last_sequence + 1::bigint) % $sequences, response_time
    from acknowledgements
),
last_closed as (
    select topic_partition, producer_id, producer_epoch, base_sequence, max(response_time) as closed_time
    from closed
    group by topic_partition, producer_id, producer_epoch, base_sequence
),
refused as (
    select
        r.*,
        row_number() over (partition by client, topic_partition order by response_time, response_frame) as nth,
        (acknowledged + 1::bigint) % $sequences = base_sequence as is_next
    from sent r
    left join last_closed using (topic_partition, producer_id, producer_epoch, base_sequence)
    where error in ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID')
        and coalesce(closed_time <= response_time, true)
)
select
    'client ' || client as subject,
    client,
    max(software) as software,
    topic_partition,
    count(*) as batches,
    list(distinct error order by error) as errors,
    max(base_sequence) filter (where nth = 1) as sequence,
    max(producer_id) filter (where nth = 1) as producer_id,
    max(producer_epoch) filter (where nth = 1) as producer_epoch,
    max(acknowledged) filter (where nth = 1 and is_next) as lost_sequence,
    max(acknowledged) filter (where nth = 1 and not is_next) as acknowledged_sequence,
    batches as weight,
    evidence(place) as evidence
from refused
group by client, topic_partition
union all by name
select
    'partition ' || topic_partition as subject, '' as client, text as problem, code = 'PRODUCER_RESTARTED' as is_restart,
    greatest(missing, 1) as weight, [place] as evidence
from log_problems
where code in ('SEQUENCE_GAP', 'PRODUCER_RESTARTED')
