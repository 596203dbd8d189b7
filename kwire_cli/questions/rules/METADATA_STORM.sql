-- One row for each client that asks for Metadata far too often.
select
    client,
    max(software) as software,
    count(*) as requests,
    seconds_between(min(request_time), max(request_time)) as lasted_s,
    count(*) / nullif(lasted_s, 0) as per_s,
    nullif(count(*) filter (where len(errors) > 0), 0) as failed,
    max(response_size) as largest,
    count(*) as weight,
    evidence(request_place) as evidence
from calls
where api = 'Metadata'
group by client, client_host
having count(*) >= $least_requests and lasted_s >= $least_s and per_s >= $least_per_s
