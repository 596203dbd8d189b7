-- One row for each client that sent batches again. The client's host is a part of the key: what a proxy passes on was
-- not sent again.
with sent as (
    select
        *,
        row_number() over (
            partition by capture_point, client_host, topic_partition, producer_id, producer_epoch, base_sequence, crc
            order by request_time, frame
        ) as nth
    from sent_batches
    where crc_valid and producer_id >= 0 and base_sequence >= 0
)
select
    client,
    max(software) as software,
    count(*) as batches,
    count(*) filter (where nth > 1) as repeated,
    list(distinct topic_partition order by topic_partition) filter (where nth > 1) as partitions,
    repeated as weight,
    list_distinct(arg_min(request_place, request_place.ordinal, 10) filter (where nth > 1)) as evidence
from sent
group by client
having count(*) filter (where nth > 1) > 0
