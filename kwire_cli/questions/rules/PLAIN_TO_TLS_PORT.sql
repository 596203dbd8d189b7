-- One row for each client without TLS that gets an alert of TLS as its answer.
select
    t.client_host as client,
    max(p.software) as software,
    t.broker_address,
    count(*) as connections,
    case when connections = 1 then 'its answer' else 'their answer' end as object,
    count(*) as weight,
    evidence(t.answer_place) as evidence
from tls t
join connection_places p using (connection)
where t.verdict = 'to tls'
group by t.client_host, t.broker_address
