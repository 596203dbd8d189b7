-- One row for each capture point at which responses come before their requests, and one for each two capture points
-- that saw the same connections begin at times too far apart.
with early as (
    select
        capture_point, count(*) as responses, max(-latency_us) / 1e6 as early_s,
        evidence(
            {
                'ordinal': ordinal, 'what': api || ' response', 'time': time, 'frame': frame, 'stream': stream,
                'packet': packet, 'file': file, 'line': null::bigint, 'capture': capture_point
            }
        ) as evidence
    from frames
    where kind = 'response' and latency_us <= -1e6 * $least_early_s
    group by capture_point
),
beginnings as (
    select client_address, broker_address, capture_point, min(first_time) as time
    from connections
    where opened and capture_point is not null and first_time is not null
    group by client_address, broker_address, capture_point
    having count(*) = 1
),
apart as (
    select
        one.capture_point, other.capture_point as other_point, count(*) as connections,
        median(seconds_between(one.time, other.time)) as apart_s
    from beginnings one
    join beginnings other using (client_address, broker_address)
    where one.capture_point < other.capture_point
    group by one.capture_point, other.capture_point
)
select
    coalesce('capture ' || capture_point, 'the capture') as captures, capture_point, null as other_point, responses,
    early_s, null as connections, null as apart_s, null as way, responses as weight, evidence
from early
union all
select
    'captures ' || capture_point || ' and ' || other_point, capture_point, other_point, null, null, connections,
    abs(apart_s), case when apart_s > 0 then 'later' else 'earlier' end, abs(apart_s), null
from apart
where abs(apart_s) >= $least_apart_s
