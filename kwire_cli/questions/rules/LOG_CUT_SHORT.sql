-- One row for each partition with logs that end in the middle of a batch.
select
    topic_partition,
    count(*) as ends,
    sum(size)::bigint as end_bytes,
    end_bytes as weight,
    evidence(place) as evidence
from log_problems
where code = 'TRUNCATED'
group by topic_partition
