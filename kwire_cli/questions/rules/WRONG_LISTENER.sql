-- One row for each client that speaks to a controller's listener.
select
    client,
    max(software) as software,
    broker_address,
    list_sort(list(distinct api)) as apis,
    count(*) as connections,
    count(*) as weight,
    evidence(place) as evidence
from closed_requests
where cause = 'controller'
group by client, broker_address
