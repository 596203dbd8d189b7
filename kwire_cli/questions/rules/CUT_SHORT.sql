-- One row for each capture point that has only the beginnings of packets.
select
    coalesce('capture ' || capture_point, 'the capture') as capture,
    sum(client_cut_bytes + broker_cut_bytes)::bigint as size,
    count(*) as connections,
    sum(client_cut_bytes + broker_cut_bytes) as weight,
    evidence(place) as evidence
from connection_places
where client_cut_bytes + broker_cut_bytes > 0 and (opened or not is_unused)
group by capture_point
