-- One row for each client and broker that throttled it.
with throttled as (
    select client, client_host, broker_address, software, api, throttle_ms, request_time, response_time, place
    from calls
    where throttle_ms > 0
),
by_api as (
    select client, client_host, broker_address, api, count(*) as requests
    from throttled
    group by client, client_host, broker_address, api
),
apis as (
    select client, client_host, broker_address, list(api || ' ' || requests order by requests desc, api) as apis
    from by_api
    group by client, client_host, broker_address
)
select
    t.client,
    max(t.software) as software,
    t.broker_address,
    a.apis,
    count(*) as requests,
    sum(t.throttle_ms) / 1000 as throttled_s,
    max(t.throttle_ms) / 1000 as longest_s,
    coalesce(seconds_between(min(t.request_time), max(t.response_time)), 0) as span_s,
    throttled_s as weight,
    evidence(t.place) as evidence
from throttled t
join apis a using (client, client_host, broker_address)
group by t.client, t.client_host, t.broker_address, a.apis
