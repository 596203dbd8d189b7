-- One row for each client whose handshakes with a broker end in alerts that are not about certificates, or in alerts
-- that are encrypted.
select
    client_host as client,
    broker_address,
    count(*) as connections,
    counted('with ' || failure) as failures,
    count(*) as weight,
    evidence(place) as evidence
from tls
where verdict = 'failed'
group by client_host, broker_address
