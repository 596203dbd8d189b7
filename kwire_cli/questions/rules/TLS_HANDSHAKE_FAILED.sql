-- One row for each client whose handshakes with a broker end in alerts that are not about certificates, or in alerts
-- that are encrypted.
with failures as (
    select client_host, broker_address, failure, count(*) as connections, evidence(place) as evidence
    from tls
    where verdict = 'failed'
    group by client_host, broker_address, failure
)
select
    client_host as client,
    broker_address,
    sum(connections)::bigint as connections,
    list(connections || ' with ' || failure order by failure) as failures,
    sum(connections) as weight,
    flatten(list(evidence)) as evidence
from failures
group by client_host, broker_address
