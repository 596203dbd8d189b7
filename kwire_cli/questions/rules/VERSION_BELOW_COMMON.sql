-- One row for each software and broker with requests of a version well below what both sides know.
with uses as (
    select
        software, broker_address, api_key, api, api_version, max(client) as client, count(*) as requests,
        evidence(request_place) as evidence
    from calls
    where software is not null and api <> 'ApiVersions'
    group by software, broker_address, api_key, api, api_version
),
by_version as (
    select software, api_key, api_version, sum(requests) as requests from uses group by software, api_key, api_version
),
usual as (
    select
        software, api_key, arg_max(api_version, {'requests': requests, 'version': api_version}) as usual_version,
        max(requests) as most, sum(requests) as total
    from by_version
    group by software, api_key
)
select
    u.client, u.software, u.broker_address, u.api, u.api_version, u.requests, o.last_version, s.usual_version,
    u.requests as weight, u.evidence
from uses u
join usual s using (software, api_key)
join offered_versions o using (broker_address, api_key)
where s.most >= $usual_share * s.total and u.requests >= $least_requests
    and u.api_version <= least(s.usual_version, o.last_version) - $least_below
