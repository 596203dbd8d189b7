-- One row for each request and response in the order of time, an arrow of a ladder. `arrows` counts all rows, also those
-- beyond $most. With $chosen, only frames with these ordinals count. A request is unanswered if its connection was closed
-- and it has no response.
select
    count(*) over () as arrows,
    f.kind,
    f.time,
    f.frame,
    f.line,
    case when f.capture_point is null and min(f.file) over () <> max(f.file) over () then f.file else f.capture_point
        end as capture,
    coalesce(nullif(f.client_id, ''), if(f.kind = 'request', f.src, f.dst), 'unknown') as client,
    coalesce(host_of(if(f.kind = 'request', f.src, f.dst)), '') as client_host,
    coalesce(if(f.kind = 'request', f.dst, f.src), 'unknown') as broker,
    max(f.broker) over (partition by f.capture_point, if(f.kind = 'request', f.dst, f.src)) as node,
    coalesce(f.api, 'api ' || f.api_key) as api,
    f.api_version,
    if(f.kind = 'request', f.request_groups, []) as groups,
    if(f.kind = 'request', f.transactional_id, null) as transactional_id,
    if(f.kind = 'request', f.topics, []) as topics,
    coalesce(b.words, []) as words,
    f.throttle_ms,
    f.errors,
    not (f.kind = 'request' and f.expects_answer and r.frame is null and c.closed_by is not null) as is_answered,
    f.latency_us / 1e6 as latency_s
from frames f
left join frame_words b on b.connection = f.connection and b.frame = f.frame and b.kind = f.kind
left join connections c on c.connection = f.connection
left join frames r on r.connection = f.connection and r.request_frame = f.frame and r.kind = 'response'
where f.kind in ('request', 'response') and not f.guess and f.api_key is not null
    and ($chosen is null or f.ordinal in (select unnest($chosen)))
order by f.time nulls first, f.ordinal, f.kind
limit $most
