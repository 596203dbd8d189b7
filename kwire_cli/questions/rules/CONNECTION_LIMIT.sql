-- One row for each client whose new connections a broker closes at once while others of the same host work.
select
    client,
    max(software) as software,
    client_host,
    broker_address,
    count(*) as connections,
    max(working_connections) as working,
    count(*) as weight,
    evidence(place) as evidence
from closed_requests
where cause = 'limit'
group by client, client_host, broker_address
having count(*) >= $least_connections
