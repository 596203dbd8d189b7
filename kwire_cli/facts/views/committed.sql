-- One row for each offset that a member committed, by itself or in a transaction.
with topics as (
    select
        connection, frame, body.groupId as of_group, body.memberId as member_id,
        body.generationIdOrMemberEpoch as generation, unnest(body.topics) as t
    from bodies_offset_commit_request
    union all
    select
        connection, frame, body.groupId, body.memberId, body.generationIdOrMemberEpoch, unnest(body.topics)
    from bodies_txn_offset_commit_request
),
partitions as (
    select
        connection, frame, of_group, member_id, generation, coalesce(nullif(t.name, ''), t.topicId) as topic_key,
        unnest(t.partitions) as p
    from topics
),
rows as (
    select
        c.* replace (p.of_group as group_id),
        p.member_id,
        p.generation,
        coalesce(n.topic, p.topic_key) as topic,
        p.p.partitionIndex as partition,
        p.p.committedOffset as committed_offset
    from partitions p
    join calls c on c.connection = p.connection and c.frame = p.frame
    left join topic_names n on n.topic_id = p.topic_key
)
select *, topic || '-' || partition as topic_partition from rows
