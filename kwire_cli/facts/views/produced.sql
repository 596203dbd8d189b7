-- One row for each partition of a Produce request, with its answer.
with asked_topics as (
    select connection, frame, body.acks as acks, unnest(body.topicData) as t from bodies_produce_request
),
asked as (
    select connection, frame, acks, t.name as name, t.topicId as topic_id, unnest(t.partitionData) as p from asked_topics
),
answered_topics as (select connection, frame, unnest(body.responses) as t from bodies_produce_response),
answered as (
    select connection, frame, t.name as name, t.topicId as topic_id, unnest(t.partitionResponses) as p from answered_topics
),
rows as (
    select
        c.*,
        q.acks,
        coalesce(nullif(q.name, ''), n.topic, q.topic_id) as topic,
        q.p."index" as partition,
        q.p.recordsSizeInBytes as records_size,
        a.p.errorCode as error_code,
        a.p.baseOffset as base_offset,
        a.p.currentLeader.leaderId as current_leader
    from asked q
    join calls c on c.connection = q.connection and c.frame = q.frame
    left join answered a
        on a.connection = c.connection and a.frame = c.response_frame and coalesce(a.name, '') = coalesce(q.name, '')
        and coalesce(a.topic_id, '') = coalesce(q.topic_id, '') and a.p."index" = q.p."index"
    left join topic_names n on n.topic_id = q.topic_id
)
select *, topic || '-' || partition as topic_partition from rows
