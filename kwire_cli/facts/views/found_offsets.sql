-- One row for each committed offset in an OffsetFetch response: groups[] since version 8, topics[] before.
with of_groups as (select connection, frame, unnest(body.groups) as g from bodies_offset_fetch_response),
group_topics as (select connection, frame, g.groupId as of_group, unnest(g.topics) as t from of_groups),
old_topics as (
    select r.connection, r.frame, q.body.groupId as of_group, unnest(r.body.topics) as t
    from bodies_offset_fetch_response r
    join calls c on c.connection = r.connection and c.response_frame = r.frame
    join bodies_offset_fetch_request q on q.connection = c.connection and q.frame = c.frame
    where r.body.groups is null
),
partitions as (
    select connection, frame, of_group, coalesce(nullif(t.name, ''), t.topicId) as topic_key, unnest(t.partitions) as p
    from group_topics
),
old_partitions as (
    select connection, frame, of_group, t.name as topic_key, unnest(t.partitions) as p from old_topics
),
offsets as (
    select connection, frame, of_group, topic_key, p.partitionIndex as partition, p.committedOffset as committed_offset
    from partitions
    union all
    select connection, frame, of_group, topic_key, p.partitionIndex, p.committedOffset from old_partitions
),
rows as (
    select
        c.* replace (o.of_group as group_id),
        coalesce(n.topic, o.topic_key) as topic,
        o.partition,
        o.committed_offset
    from offsets o
    join calls c on c.connection = o.connection and c.response_frame = o.frame
    left join topic_names n on n.topic_id = o.topic_key
)
select *, topic || '-' || partition as topic_partition from rows
