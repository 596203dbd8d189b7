-- One row for each group whose members read partitions from the same offset each time, with all these partitions. A
-- group is one finding, whichever of its members, hosts and connections read the offset again.
with reads as (
    select client, client_host, connection, software, topic_partition, fetch_offset, request_time, place
    from fetched
    where records_size > 0 and error_code = 0 and fetch_offset >= 0 and not is_internal
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
repeated as (
    select
        g.group_id, r.topic_partition, r.fetch_offset, max(r.software) as software,
        list_sort(list(distinct r.client)) as clients, count(*) as reads,
        count(distinct r.connection) as connections, min(r.place.ordinal) as ordinal,
        seconds_between(min(r.request_time), max(r.request_time)) as span_s, evidence(r.place) as evidence
    from reads r
    join readers g using (client, client_host, topic_partition)
    group by g.group_id, r.topic_partition, r.fetch_offset
    having count(*) >= $least_reads and span_s >= $least_s
),
stuck as (
    select r.group_id, r.topic_partition, r.fetch_offset, max(c.committed_offset) as committed_offset
    from repeated r
    join commits c using (group_id, topic_partition)
    where c.ordinal >= r.ordinal or c.committed_offset <= r.fetch_offset
    group by r.group_id, r.topic_partition, r.fetch_offset
    having max(c.committed_offset) <= r.fetch_offset
),
ranked as (
    select
        r.*, s.committed_offset,
        list(r.topic_partition || ' from offset ' || r.fetch_offset) over (partition by r.group_id) as all_reads,
        row_number() over (
            partition by r.group_id order by r.reads desc, r.span_s desc, r.topic_partition, r.fetch_offset
        ) as nth
    from stuck s
    join repeated r using (group_id, topic_partition, fetch_offset)
),
slow as (select group_id, count(*) as polls from rebalance_triggers where cause = 'poll' group by group_id)
select
    group_id,
    clients,
    software,
    topic_partition,
    fetch_offset,
    reads,
    connections,
    span_s,
    nullif(committed_offset, -1) as committed_offset,
    list_sort(list_filter(all_reads, lambda p: p <> topic_partition || ' from offset ' || fetch_offset)) as others,
    s.polls,
    case when s.polls is not null then 'poll' end as in_case,
    reads as weight,
    evidence
from ranked
left join slow s using (group_id)
where nth = 1
