-- One row for each partition whose readers of committed records were held back: the last stable offset behind the high
-- watermark, and the Fetch responses with that offset. Later responses of a fetch session do not repeat an offset that
-- did not change (KIP-227), until the session begins anew or forgets the partition.
with held as (
    select *
    from fetched
    where isolation_level = 1 and last_stable_offset between 0 and high_watermark - 1
),
changes as (
    select connection, frame, topic_partition
    from fetched
    where isolation_level = 1 and last_stable_offset is not null
        and connection in (select connection from held)
    union all
    select f.connection, f.frame, h.topic_partition
    from fetches f
    join (select distinct connection, topic_partition from held) h using (connection)
    where f.isolation_level = 1 and f.is_answered and f.session_epoch <= 0
    union all
    select r.connection, r.frame, coalesce(nullif(r.t.topic, ''), n.topic, r.t.topicId) || '-' || unnest(r.t.partitions)
    from (
        select connection, frame, unnest(body.forgottenTopicsData) as t
        from bodies_fetch_request
        where connection in (select connection from held)
    ) r
    left join topic_names n on n.topic_id = r.t.topicId
),
spans as (
    select connection, frame, topic_partition, coalesce(lead(frame) over next, 9223372036854775807) as until_frame
    from (select distinct * from changes)
    window next as (partition by connection, topic_partition order by frame)
),
responses as (
    select
        h.topic_partition, h.last_stable_offset, h.high_watermark, f.response_time,
        coalesce(nullif(f.client_id, ''), f.client_address) as who,
        case when f.frame = h.frame then f.response_place end as place
    from held h
    join spans s on s.connection = h.connection and s.frame = h.frame and s.topic_partition = h.topic_partition
    join fetches f
        on f.connection = h.connection and f.frame >= h.frame and f.frame < s.until_frame
        and f.is_answered and f.isolation_level = 1 and (f.frame = h.frame or f.session_id <> 0)
)
select
    topic_partition,
    last_stable_offset,
    max(high_watermark) as high_watermark,
    coalesce(seconds_between(min(response_time), max(response_time)), 0) as span_s,
    count(*) as responses,
    list_sort(list(distinct who)) as clients,
    list(place order by place.ordinal) filter (where place is not null) as evidence
from responses
group by topic_partition, last_stable_offset
