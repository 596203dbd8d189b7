-- A row for each partition in log directories: offsets, records and bytes of its intact batches.
select
    capture_point,
    topic,
    partition,
    min(base_offset) as first_offset,
    max(last_offset) as last_offset,
    count(*) as batches,
    cast(sum(count) as bigint) as records,
    cast(sum(size) as bigint) as bytes,
    min(max_time) as first,
    max(max_time) as last
from batches
where crc_valid
group by capture_point, topic, partition
