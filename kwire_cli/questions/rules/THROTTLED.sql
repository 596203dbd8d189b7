-- One row for each client and broker that throttled it.
select
    client,
    max(software) as software,
    broker_address,
    counted(api) as apis,
    count(*) as requests,
    sum(throttle_ms) / 1000 as throttled_s,
    max(throttle_ms) / 1000 as longest_s,
    coalesce(seconds_between(min(request_time), max(response_time)), 0) as span_s,
    throttled_s as weight,
    evidence(place) as evidence
from calls
where throttle_ms > 0
group by client, client_host, broker_address
