-- One row for each client that speaks TLS to a listener that closes the connection.
select
    client_host as client,
    broker_address,
    count(*) as connections,
    case when connections = 1 then 'it' else 'them' end as object,
    count(*) as weight,
    evidence(place) as evidence
from tls
where verdict = 'to plain'
group by client_host, broker_address
