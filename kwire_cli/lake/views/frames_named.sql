-- The rows of frames, with the names of topics and the node ids of brokers that any run of their capture point learnt.
-- Topics are in the order of their names where an id got its name later.
with topic_names as (
    select capture_point, key, max(name) as name
    from names
    where kind = 'topic'
    group by capture_point, key
),
node_ids as (
    select capture_point, key, max(name) as name
    from names
    where kind = 'broker'
    group by capture_point, key
),
topics_of_frames as (
    select capture_point, unit, connection, frame, explode(topics) as topic
    from frames
    where cardinality(topics) > 0
),
with_ids as (
    select distinct f.capture_point, f.unit, f.connection, f.frame
    from topics_of_frames f
    join topic_names n on n.capture_point = f.capture_point and n.key = f.topic
),
named as (
    select f.unit, f.connection, f.frame, array_sort(array_agg(distinct coalesce(n.name, f.topic))) as topics
    from topics_of_frames f
    join with_ids w on w.unit = f.unit and w.connection = f.connection and w.frame = f.frame
    left join topic_names n on n.capture_point = f.capture_point and n.key = f.topic
    group by f.unit, f.connection, f.frame
)
select
    f.unit, f.run, f.file, f.packet, f.time, f.src, f.dst, f.connection, f.frame, f.request_frame, f.kind, f.size,
    f.api_key, f.api, f.api_version, f.correlation_id, f.client_id, f.software,
    coalesce(f.broker, cast(b.name as int)) as broker,
    coalesce(n.topics, f.topics) as topics,
    f.groups, f.transactional_id, f.latency_us, f.delayed, f.wait_ms, f.throttle_ms, f.error_codes, f.errors,
    f.protocol, f.anomalies, f.line, f.source, f.guess, f.missing_bytes, f.gap, f.is_misread, f.fits_as, f.reason,
    f.content, f.batch_anomalies, f.mended_client, f.allowed_ms, f.expects_answer, f.is_read, f.in_flight,
    f.request_groups, f.stages_us, f.principal, f.forwarded, f.digest, f.capture_point, f.day
from frames f
left join named n on n.unit = f.unit and n.connection = f.connection and n.frame = f.frame
left join node_ids b
    on b.capture_point = f.capture_point and b.key = case when f.kind = 'request' then f.dst else f.src end
