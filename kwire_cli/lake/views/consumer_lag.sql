-- A row for each offset that a group committed at a partition, with the high watermark of the last Fetch response before
-- it. The lag is null before the first one. Requests and responses are those of one capture point.
with commit_topics as (
    select capture_point, day, time, file, packet, body.groupId as group_id, body.memberId as member_id,
        explode(body.topics) as t
    from bodies_offset_commit_request
),
commits as (
    select capture_point, day, time, file, packet, group_id, member_id, t.name as name, t.topicId as topic_id,
        explode(t.partitions) as p
    from commit_topics
),
fetch_topics as (
    select capture_point, time, explode(body.responses) as t
    from bodies_fetch_response
),
fetches as (
    select capture_point, time, t.topic as name, t.topicId as topic_id, explode(t.partitions) as p
    from fetch_topics
),
topic_names as (
    select capture_point, key as topic_id, max(name) as topic
    from names
    where kind = 'topic'
    group by capture_point, key
),
events as (
    select capture_point, day, time, file, packet, group_id, member_id, name, topic_id,
        p.partitionIndex as partition, p.committedOffset as committed_offset, cast(null as bigint) as high_watermark
    from commits
    where p.committedOffset >= 0
    union all
    select capture_point, null, time, null, null, null, null, name, topic_id,
        p.partitionIndex, null, p.highWatermark
    from fetches
    where p.errorCode = 0 and p.highWatermark >= 0
),
named as (
    select e.*, coalesce(nullif(e.name, ''), n.topic, e.topic_id) as topic
    from events e
    left join topic_names n on n.capture_point = e.capture_point and n.topic_id = e.topic_id
),
known as (
    select *,
        max_by(high_watermark, case when high_watermark is not null then time end) over (
            partition by capture_point, topic, partition
            order by time
            rows between unbounded preceding and current row
        ) as end_offset
    from named
)
select
    capture_point,
    time,
    group_id,
    member_id,
    topic,
    partition,
    committed_offset,
    end_offset as high_watermark,
    case when end_offset is not null then greatest(end_offset - committed_offset, 0) end as lag,
    file,
    packet,
    day
from known
where group_id is not null
