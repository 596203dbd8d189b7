-- One row for each partition with batches in logs whose checksum is wrong, or with bytes between batches.
select
    topic_partition,
    nullif(count(*) filter (where code = 'CRC_MISMATCH'), 0) as checksums,
    nullif(count(*) filter (where code <> 'CRC_MISMATCH'), 0) as gaps,
    sum(size)::bigint as gap_bytes,
    checksums > 0 and gaps > 0 or null as is_both,
    count(*) as weight,
    evidence(place) as evidence
from log_problems
where code = 'CRC_MISMATCH' or (size > 0 and code <> 'TRUNCATED')
group by topic_partition
