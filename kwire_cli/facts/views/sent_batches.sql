-- One row for each batch in a Produce request, with the answer for its partition. A request log has no batches: one row
-- for each partition of a request.
with refusals as (
    select connection, frame, topic, partition, min(error) as error
    from errors
    group by connection, frame, topic, partition
)
select
    p.*,
    b.records,
    b.size,
    b.crc,
    b.crc_valid,
    b.producer_id,
    b.producer_epoch,
    b.base_sequence,
    b.last_sequence,
    b.max_time_ms,
    r.error
from produced p
left join batches b
    on b.connection = p.connection and b.frame = p.frame and b.topic = p.topic and b.partition = p.partition
left join refusals r
    on r.connection = p.connection and r.frame = p.response_frame and r.topic = p.topic and r.partition = p.partition
