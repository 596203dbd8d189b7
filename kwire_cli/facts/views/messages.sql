-- One row for each request, and for each response whose request is known: what statistics count. Connections that only
-- repeat those of others are left out. The two of a line of a request log have the time of the line.
with logged as (
    select connection, frame, time from frames where source = 'request-log' and kind = 'response'
)
select
    f.connection,
    f.frame,
    f.kind,
    coalesce(l.time, f.time) as time,
    f.source,
    f.capture_point,
    f.api,
    f.api_key,
    f.api_version,
    f.client_id,
    f.software,
    case when f.kind = 'request' then f.src else f.dst end as client_address,
    case when f.kind = 'request' then f.dst else f.src end as broker_address,
    f.broker,
    f.topics,
    f.request_groups,
    f.size,
    f.in_flight,
    f.latency_us,
    f.delayed,
    case when f.source = 'capture' then f.throttle_ms * 1000 else f.stages_us['throttle'] end as throttle_us,
    f.errors,
    f.stages_us,
    f.principal,
    f.forwarded
from frames f
left join logged l on l.connection = f.connection and l.frame = f.frame
where f.kind in ('request', 'response') and not f.guess
    and f.connection not in (select connection from repeated_connections)
