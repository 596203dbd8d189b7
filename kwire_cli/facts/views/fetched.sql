-- One row for each partition that a Fetch request or its response names. In a fetch session a request names only the
-- partitions that changed, so the last offset that the session named counts (KIP-227): `fetch_offset` is that offset,
-- `asked_offset` the one in the request. Columns of the response are null for a partition that it does not name.
with asked_topics as (select connection, frame, unnest(body.topics) as t from bodies_fetch_request),
asked as (
    select connection, frame, coalesce(nullif(t.topic, ''), t.topicId) as topic_key, unnest(t.partitions) as q
    from asked_topics
),
answered_topics as (select connection, frame, unnest(body.responses) as t from bodies_fetch_response),
answered as (
    select connection, frame, coalesce(nullif(t.topic, ''), t.topicId) as topic_key, unnest(t.partitions) as p
    from answered_topics
),
partitions as (
    select
        coalesce(q.connection, a.connection) as connection,
        coalesce(q.frame, a.frame) as frame,
        coalesce(q.topic_key, a.topic_key) as topic_key,
        coalesce(q.q.partition, a.p.partitionIndex) as partition,
        q.q.fetchOffset as asked_offset,
        a.p
    from asked q
    full join (
        select c.connection, c.frame, a.topic_key, a.p
        from answered a
        join calls c on c.connection = a.connection and c.response_frame = a.frame
    ) a
        on a.connection = q.connection and a.frame = q.frame and a.topic_key = q.topic_key
        and a.p.partitionIndex = q.q.partition
),
rows as (
    select
        f.* exclude (error_code, records_size),
        f.records_size as records_size_of_all,
        coalesce(n.topic, b.topic_key) as topic,
        b.partition,
        last_value(b.asked_offset ignore nulls) over (
            partition by b.connection, b.topic_key, b.partition order by b.frame
            rows between unbounded preceding and current row
        ) as fetch_offset,
        b.asked_offset,
        b.p.errorCode as error_code,
        b.p.highWatermark as high_watermark,
        b.p.lastStableOffset as last_stable_offset,
        b.p.logStartOffset as log_start_offset,
        coalesce(b.p.recordsSizeInBytes, 0) as records_size,
        b.p.currentLeader.leaderId as current_leader,
        coalesce(b.p.preferredReadReplica, -1) as preferred_read_replica
    from partitions b
    join fetches f on f.connection = b.connection and f.frame = b.frame
    left join topic_names n on n.topic_id = b.topic_key
)
select *, topic || '-' || partition as topic_partition from rows
