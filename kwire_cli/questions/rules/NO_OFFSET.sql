-- One row for each member of a group that found no committed offset of a partition and did not ask where to begin. The
-- broker that leads the partition has to be in the capture.
with found as (
    select
        f.group_id, f.client, f.client_host, f.topic_partition, f.topic, f.partition, max(f.software) as software,
        min(f.place.ordinal) as ordinal, max(f.response_time) as found_time, evidence(f.place) as places
    from found_offsets f
    join (select distinct group_id, client, client_host from member_calls where api <> 'OffsetCommit') m
        using (group_id, client, client_host)
    group by all
    having max(f.committed_offset) = -1 and max(len(f.errors)) = 0
),
positions as (
    select client, client_host, topic_partition from fetched
    union
    select client, client_host, topic_partition from listed_offsets
    union
    select client, client_host, topic_partition from committed
),
leaders as (
    select distinct topic_partition
    from described_partitions
    where leader in (select broker from calls where is_answered)
),
last_calls as (select client, client_host, max(request_time) as last_time from calls group by client, client_host)
select
    f.group_id,
    f.client,
    max(f.software) as software,
    list_sort(list(f.topic_partition)) as topic_partitions,
    seconds_between(min(f.found_time), max(l.last_time)) as lived_s,
    count(*) as weight,
    flatten(list(f.places)) as evidence
from found f
join last_calls l using (client, client_host)
join leaders using (topic_partition)
left join positions p using (client, client_host, topic_partition)
where p.client is null and (f.client, f.client_host) not in (
    select (client, client_host) from calls where api in ('Fetch', 'ListOffsets') and not is_answered
)
group by f.group_id, f.client, f.client_host
having lived_s >= $least_s or bool_or((f.group_id, f.client) in (
    select (group_id, client) from member_calls where api = 'LeaveGroup' or member_epoch < 0
))
