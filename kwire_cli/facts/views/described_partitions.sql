-- One row for each partition in a Metadata response.
with topics as (select connection, frame, body.clusterId as cluster_id, unnest(body.topics) as t from bodies_metadata_response),
partitions as (
    select
        connection, frame, cluster_id, nullif(t.name, '') as name, t.topicId as topic_id, t.errorCode as topic_error_code,
        unnest(t.partitions) as p
    from topics
),
rows as (
    select
        c.*,
        p.cluster_id,
        coalesce(p.name, n.topic, p.topic_id) as topic,
        p.topic_id,
        p.topic_error_code,
        p.p.partitionIndex as partition,
        p.p.errorCode as error_code,
        p.p.leaderId as leader,
        p.p.leaderEpoch as leader_epoch,
        list_sort(p.p.isrNodes) as isr,
        list_sort(p.p.replicaNodes) as replicas
    from partitions p
    join calls c on c.connection = p.connection and c.response_frame = p.frame
    left join topic_names n on n.topic_id = p.topic_id
)
select *, topic || '-' || partition as topic_partition from rows
