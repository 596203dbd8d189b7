-- One row for each call, and for each other line of a capture, such as a response without its request: in the order of
-- time, the first $most of those with $chosen ordinals. `lines` counts all rows.
with topics_by_id as (select map_from_entries(list((topic_id, topic))) as topics from topic_names),
calls_of_frames as (
    select
        c.connection,
        c.frame as request,
        c.response_frame as response,
        q.ordinal,
        c.capture_point as capture,
        q.file,
        q.line,
        q.packet,
        q.stream,
        'call' as kind,
        c.request_time as time,
        c.latency_us,
        c.served_us,
        c.delayed,
        c.api,
        c.api_version,
        nullif(c.client_id, '') as client_id,
        c.client_address,
        c.software,
        c.broker,
        c.broker_address,
        q.request_groups as groups,
        q.transactional_id,
        list_distinct(list_concat(c.topics, c.answered_topics)) as topics,
        w.words as asked_words,
        a.words as answered_words,
        c.throttle_ms,
        c.errors,
        c.request_size,
        c.response_size,
        c.expects_answer,
        q.in_flight,
        q.anomalies
    from calls c
    join frames q on q.connection = c.connection and q.frame = c.frame and q.kind = 'request'
    left join frame_words w on w.connection = c.connection and w.frame = c.frame and w.kind = 'request'
    left join frame_words a on a.connection = c.connection and a.frame = c.response_frame and a.kind = 'response'
),
frames_of_calls as (
    select connection, frame from calls
    union all
    select connection, response_frame from calls where response_frame is not null
),
others as (
    select
        f.connection,
        case when f.kind = 'request' then f.frame end as request,
        case when f.kind = 'response' or request is null then f.frame end as response,
        f.ordinal,
        f.capture_point as capture,
        f.file,
        f.line,
        f.packet,
        f.stream,
        f.kind,
        f.time,
        coalesce(f.api, f.protocol, f.gap, f.kind) as api,
        f.api_version,
        nullif(f.client_id, '') as client_id,
        if(f.kind = 'response', f.dst, f.src) as client_address,
        f.software,
        f.broker,
        if(f.kind = 'response', f.src, f.dst) as broker_address,
        f.request_groups as groups,
        f.transactional_id,
        f.topics,
        w.words as answered_words,
        f.throttle_ms,
        f.errors,
        case when f.kind = 'request' then f.size end as request_size,
        case when f.kind = 'response' or request is null then f.size end as response_size,
        f.in_flight,
        f.anomalies
    from frames f
    anti join frames_of_calls c on c.connection = f.connection and c.frame = f.frame
    left join frame_words w on w.connection = f.connection and w.frame = f.frame and w.kind = f.kind
    where f.connection not in (select connection from repeated_connections)
),
lines as ((from calls_of_frames) union all by name (from others))
select
    request, response, capture, file, line, packet, stream, kind, api, api_version, software, groups, transactional_id, asked_words, answered_words, latency_us, served_us, delayed, throttle_ms,
    errors, request_size, response_size, expects_answer, in_flight, anomalies,
    epoch_us(time) as time_us,
    coalesce(client_id, max(client_id) over (partition by connection), client_address, 'unknown') as client,
    coalesce('node ' || max(broker) over (partition by capture, broker_address), broker_address, 'unknown') as broker,
    list_transform(l.topics, lambda topic: coalesce(t.topics[topic], topic)) as topics,
    count(*) over () as lines
from lines l
cross join topics_by_id t
where $chosen is null or l.ordinal in (select unnest($chosen))
order by l.time nulls first, l.ordinal
limit $most
