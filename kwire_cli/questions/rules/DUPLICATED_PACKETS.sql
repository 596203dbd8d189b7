-- One row for each capture point that has most packets twice.
select
    coalesce('capture ' || capture_point, 'the capture') as capture,
    sum(client_again_segments + broker_again_segments)::bigint as segments,
    sum(client_again_segments + broker_again_segments) as weight
from connections
where client_bytes is not null and broker_bytes is not null
group by capture_point
having sum(client_again_segments + broker_again_segments) >= $least_segments
    and sum(client_again_bytes + broker_again_bytes) >= $least_share * sum(client_bytes + broker_bytes)
