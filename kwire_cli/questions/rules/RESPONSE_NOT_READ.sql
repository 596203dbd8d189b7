-- One row for each client that closes connections while responses arrive, and each api.
select
    client,
    max(software) as software,
    broker_address,
    api,
    count(*) as times,
    max(size) as size,
    max(waited_s) as waited_s,
    if(max(waited_s) < $quick_s, 'size', 'time') as in_case,
    times as weight,
    evidence(place) as evidence
from dropped_responses
where not is_internal
group by client, broker_address, api
having count(*) >= 2
