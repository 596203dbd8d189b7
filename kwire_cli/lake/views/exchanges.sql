-- A row for each request, with its response if there is one.
select
    q.capture_point,
    q.connection,
    q.frame,
    a.frame as response_frame,
    q.api,
    q.api_version,
    q.client_id,
    q.software,
    q.src as client,
    q.dst as broker_address,
    coalesce(q.broker, a.broker) as broker,
    q.topics,
    q.groups,
    q.time as requested,
    a.time as answered,
    a.latency_us,
    a.delayed,
    a.throttle_ms,
    a.errors,
    q.size as request_bytes,
    a.size as response_bytes,
    q.file,
    q.packet,
    a.file as response_file,
    a.packet as response_packet,
    q.day
from frames q
left join frames a
    on a.kind = 'response'
    and a.capture_point = q.capture_point
    and a.connection = q.connection
    and a.request_frame = q.frame
where q.kind = 'request'
