-- One row for each client and topic of which one partition gets most of the bytes. A producer stays with a partition
-- until a batch is full, so a topic counts only if each of its partitions could have had a full batch.
with sizes as (
    select
        client,
        topic,
        topic_partition,
        max(software) as software,
        sum(records_size) as bytes,
        count(*) as requests,
        percentile_cont(0.95) within group (order by served_us) as served_us,
        evidence(request_place) as evidence
    from produced
    where not is_internal
    group by client, topic, topic_partition
),
partitions as (
    select topic, topic_partition from described_partitions
    union
    select topic, topic_partition from produced
),
counts as (
    select topic, count(*) as partitions from partitions group by topic
),
shares as (
    select
        s.*,
        c.partitions,
        sum(s.requests) over topic as all_requests,
        sum(s.bytes) over topic as all_bytes,
        s.bytes / nullif(sum(s.bytes) over topic, 0) as share
    from sizes s
    join counts c using (topic)
    window topic as (partition by s.client, s.topic)
)
select
    client,
    software,
    topic,
    topic_partition,
    share,
    share * partitions as factor,
    partitions,
    served_us,
    bytes as weight,
    evidence
from shares
where all_requests >= $least_requests and all_bytes >= $batch_bytes * partitions and share >= $least_share
    and share * partitions >= $least_factor
