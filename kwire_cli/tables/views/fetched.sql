-- One row for each partition of a Fetch response, with the offset that was asked for. In a fetch session a request
-- names only the partitions that changed, so the last offset that the session named stands (KIP-227).
with asked_topics as (
    select connection, frame, body.minBytes as min_bytes, body.isolationLevel as isolation_level, unnest(body.topics) as t
    from bodies_fetch_request
),
asked as (
    select
        connection, frame, min_bytes, isolation_level, coalesce(nullif(t.topic, ''), t.topicId) as topic_key,
        unnest(t.partitions) as p
    from asked_topics
),
answered_topics as (select connection, frame, unnest(body.responses) as t from bodies_fetch_response),
answered as (
    select connection, frame, coalesce(nullif(t.topic, ''), t.topicId) as topic_key, unnest(t.partitions) as p
    from answered_topics
),
rows as (
    select
        c.*,
        coalesce(n.topic, a.topic_key) as topic,
        a.p.partitionIndex as partition,
        last_value(q.p.fetchOffset ignore nulls) over (
            partition by a.connection, a.topic_key, a.p.partitionIndex order by a.frame
            rows between unbounded preceding and current row
        ) as fetch_offset,
        q.p.fetchOffset as asked_offset,
        a.p.errorCode as error_code,
        a.p.highWatermark as high_watermark,
        a.p.lastStableOffset as last_stable_offset,
        a.p.logStartOffset as log_start_offset,
        coalesce(a.p.recordsSizeInBytes, 0) as records_size,
        a.p.currentLeader.leaderId as current_leader,
        q.min_bytes,
        q.isolation_level
    from answered a
    join calls c on c.connection = a.connection and c.response_frame = a.frame
    left join asked q
        on q.connection = c.connection and q.frame = c.frame and q.topic_key = a.topic_key
        and q.p.partition = a.p.partitionIndex
    left join topic_names n on n.topic_id = a.topic_key
)
select *, topic || '-' || partition as topic_partition from rows
