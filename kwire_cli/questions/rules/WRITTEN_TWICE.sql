-- One row for each client and partition in which a broker wrote a batch more than once. The same bytes on another
-- connection, or much later, are a retry. Records without a timestamp may well be equal.
with written as (
    select
        *,
        first_value(base_offset) over same as first_offset,
        lag(connection) over same as connection_before,
        lag(request_time) over same as time_before
    from sent_batches
    where is_answered and error is null and base_offset >= 0 and crc_valid and max_time_ms >= 0
    window same as (
        partition by client, client_host, topic_partition, producer_id, base_sequence, crc, size
        order by request_time, frame
    )
)
select
    client,
    max(software) as software,
    topic_partition,
    count(*) as batches,
    list(distinct first_offset || ' and ' || base_offset order by first_offset || ' and ' || base_offset) as offsets,
    max(producer_id) filter (where producer_id >= 0) as producer_id,
    batches as weight,
    evidence(place) as evidence
from written
where base_offset <> first_offset
    and (connection <> connection_before or seconds_between(time_before, request_time) >= $least_s)
group by client, topic_partition
