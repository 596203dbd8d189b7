-- One row for each TCP connection, with who speaks on it and its places.
with spoken as (
    select
        connection,
        min(client) as client,
        min(client_id) as client_id,
        max(software) as software,
        bool_or(is_internal) as is_internal,
        count(*) as requests,
        count(response_frame) as answers,
        count(response_frame) filter (where api not in ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate')) as useful_answers,
        count(*) filter (where response_frame is null and expects_answer) as unanswered,
        max(coalesce(response_time, request_time)) as last_call_time,
        max(response_time) as last_answer_time
    from calls
    group by connection
),
foreign_bytes as (select connection, list_sort(list(distinct protocol)) as protocols from frames where kind = 'not-kafka' group by connection)
select
    c.*,
    coalesce(s.client, host_of(c.client_address)) as client,
    s.client_id,
    s.software,
    coalesce(s.is_internal, false) as is_internal,
    coalesce(s.requests, 0) as requests,
    coalesce(s.answers, 0) as answers,
    coalesce(s.useful_answers, 0) as useful_answers,
    coalesce(s.unanswered, 0) as unanswered,
    s.last_call_time,
    s.last_answer_time,
    coalesce(f.protocols, []) as protocols,
    host_of(c.client_address) as client_host,
    {
        'ordinal': c.ordinal, 'what': 'connection', 'time': c.first_time, 'frame': null::bigint, 'stream': c.stream,
        'packet': c.packet, 'file': c.file, 'line': null::bigint, 'capture': c.capture_point
    } as place
from connections c
left join spoken s using (connection)
left join foreign_bytes f using (connection)
