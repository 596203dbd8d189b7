-- One row for each offset in a ListOffsets response of a consumer, with the requested time: -2 is the start of the log,
-- -1 its end.
with asked_topics as (
    select connection, frame, unnest(body.topics) as t
    from bodies_list_offsets_request
    where coalesce(body.replicaId, -1) < 0
),
asked as (select connection, frame, t.name as topic, unnest(t.partitions) as q from asked_topics),
answered_topics as (select connection, frame, unnest(body.topics) as t from bodies_list_offsets_response),
answered as (select connection, frame, t.name as topic, unnest(t.partitions) as p from answered_topics)
select
    c.*,
    q.topic,
    q.q.partitionIndex as partition,
    q.topic || '-' || q.q.partitionIndex as topic_partition,
    q.q.timestamp as asked_time,
    coalesce(a.p.offset, a.p.oldStyleOffsets[1]) as listed_offset
from answered a
join calls c on c.connection = a.connection and c.response_frame = a.frame
join asked q
    on q.connection = c.connection and q.frame = c.frame and q.topic = a.topic
    and q.q.partitionIndex = a.p.partitionIndex
