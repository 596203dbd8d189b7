-- One row for each client that used idle connections which no longer existed.
select
    client,
    max(software) as software,
    list_sort(list(distinct broker_address)) as brokers,
    list_sort(list(distinct api || ' ' || api_version)) as apis,
    count(*) as connections,
    max(idle_s) as longest_s,
    count(*) as weight,
    evidence(place) as evidence
from closed_requests
where cause = 'stale' and not is_internal
group by client
