-- One row for each member of a group that commits too often. Commits that are refused are sent again by the client.
with commits as (
    select
        group_id, client, client_host, connection, frame, max(software) as software, min(request_time) as request_time,
        min(request_place) as place
    from committed
    where api = 'OffsetCommit' and committed_offset >= 0 and len(errors) = 0
    group by group_id, client, client_host, connection, frame
),
members as (
    select
        group_id, client, client_host, max(software) as software, count(*) as commits,
        seconds_between(min(request_time), max(request_time)) as span_s, evidence(place) as evidence
    from commits
    group by group_id, client, client_host
    having count(*) >= $least_commits
),
partitions as (
    select group_id, client, client_host, topic, max(committed_offset) - min(committed_offset) as records
    from committed
    where api = 'OffsetCommit' and committed_offset >= 0 and len(errors) = 0
    group by group_id, client, client_host, topic, partition
),
progress as (
    select
        group_id, client, client_host, nullif(sum(records), 0) as records,
        list_sort(list(distinct topic)) as topics
    from partitions
    group by group_id, client, client_host
)
select
    m.group_id,
    m.client,
    m.software,
    m.commits,
    m.span_s,
    m.commits / greatest(m.span_s, 1) as commits_per_s,
    p.records / (m.commits - 1) as records_apart,
    p.topics,
    m.commits as weight,
    m.evidence
from members m
join progress p using (group_id, client, client_host)
where commits_per_s >= $most_per_s
