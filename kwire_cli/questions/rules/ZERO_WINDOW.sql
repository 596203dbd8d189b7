-- One row for each side of connections that takes no bytes for long.
with sides as (
    select
        'client ' || client_host as reader, broker_address as sender, client_shut_us as shut_us, software, place
    from connection_places
    union all
    select 'broker ' || broker_address, client_host, broker_shut_us, null, place
    from connection_places
)
select
    reader,
    sender,
    max(software) as software,
    count(*) as connections,
    max(shut_us) / 1e6 as longest_s,
    longest_s as weight,
    evidence(place) as evidence
from sides
where shut_us >= 1e6 * $least_s
group by reader, sender
