-- One row for each client that got ApiVersions answered, and was disconnected at its first other request.
with at_login as (
    select client, broker_address, api, api_version, software, place, cause
    from closed_requests
    where not is_internal
),
judged as (
    select client, broker_address, bool_and(cause = 'login') as is_login
    from at_login
    group by client, broker_address
    having count(*) >= $least_connections
)
select
    a.client,
    max(a.software) as software,
    a.broker_address,
    list_sort(list(distinct a.api || ' ' || a.api_version)) as apis,
    count(*) as connections,
    count(*) as weight,
    evidence(a.place) as evidence
from at_login a
join judged j using (client, broker_address)
where j.is_login
group by a.client, a.broker_address
