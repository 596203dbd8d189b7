-- One row for each capture point that lacks bytes which were acknowledged.
with gaps as (
    select
        capture_point,
        evidence(
            {
                'ordinal': ordinal, 'what': 'gap', 'time': time, 'frame': frame, 'stream': stream, 'packet': packet,
                'file': file, 'line': null::bigint, 'capture': capture_point
            }
        ) as evidence
    from frames
    where gap = 'LOST'
    group by capture_point
),
lossy as (
    select
        capture_point, sum(client_lost_bytes + broker_lost_bytes)::bigint as size, count(*) as connections,
        evidence(place) as evidence
    from connection_places
    where client_lost_bytes + broker_lost_bytes > 0 and (opened or not is_unused)
    group by capture_point
)
select
    coalesce('capture ' || l.capture_point, 'the capture') as capture,
    l.size,
    l.connections,
    l.size as weight,
    coalesce(g.evidence, l.evidence) as evidence
from lossy l
left join gaps g on g.capture_point is not distinct from l.capture_point
