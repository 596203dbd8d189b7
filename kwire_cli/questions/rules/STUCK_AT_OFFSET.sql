-- One row for each group and client that reads partitions from the same offset each time.
with reads as (
    select
        client, client_host, topic_partition, fetch_offset, max(software) as software, count(*) as reads,
        count(distinct connection) as connections, min(place.ordinal) as ordinal,
        seconds_between(min(request_time), max(request_time)) as span_s, evidence(place) as evidence
    from fetched
    where records_size > 0 and error_code = 0 and fetch_offset >= 0 and not is_internal
    group by client, client_host, topic_partition, fetch_offset
    having count(*) >= $least_reads and span_s >= $least_s
),
commits as (
    select group_id, client, client_host, topic_partition, request_place.ordinal as ordinal, committed_offset
    from committed
    where len(errors) = 0
    union all
    select group_id, client, client_host, topic_partition, place.ordinal, committed_offset
    from found_offsets
),
readers as (select distinct group_id, client, client_host, topic_partition from commits),
stuck as (
    select
        c.group_id, r.client, r.client_host, r.topic_partition, r.fetch_offset,
        max(c.committed_offset) as committed_offset
    from reads r
    join readers g using (client, client_host, topic_partition)
    join commits c on c.group_id = g.group_id and c.topic_partition = g.topic_partition
    where c.ordinal >= r.ordinal or c.committed_offset <= r.fetch_offset
    group by c.group_id, r.client, r.client_host, r.topic_partition, r.fetch_offset
    having max(c.committed_offset) <= r.fetch_offset
),
ranked as (
    select
        s.group_id, s.committed_offset, r.*, list(r.topic_partition) over (of_client) as all_partitions,
        row_number() over (of_client order by r.reads desc, r.span_s desc, r.topic_partition, r.fetch_offset) as nth
    from stuck s
    join reads r using (client, client_host, topic_partition, fetch_offset)
    window of_client as (partition by s.group_id, r.client, r.client_host)
)
select
    group_id,
    client,
    software,
    topic_partition,
    fetch_offset,
    reads,
    connections,
    span_s,
    nullif(committed_offset, -1) as committed_offset,
    list_sort(list_filter(list_distinct(all_partitions), lambda p: p <> topic_partition)) as others,
    reads as weight,
    evidence
from ranked
where nth = 1
