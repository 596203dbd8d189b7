-- One row for each broker with connections that are encrypted, and that no key opens.
select
    broker_address,
    count(*) as connections,
    sum(client_bytes + broker_bytes)::bigint as size,
    array_to_string(list_sort(list(distinct split_part(reason, ' for client random', 1)))[:$most_reasons], '; ') as reasons,
    count(*) as weight,
    evidence(place) as evidence
from tls
where verdict = 'undecrypted'
group by broker_address
