-- One row for each client, api and version that the broker does not offer, if the broker did not refuse it by an error.
select
    c.client,
    max(c.software) as software,
    c.broker_address,
    c.api,
    c.api_version,
    o.first_version,
    o.last_version,
    count(*) as requests,
    nullif(count(*) filter (where c.is_answered), 0) as answered,
    requests as weight,
    evidence(c.request_place) as evidence
from calls c
join offered_versions o using (broker_address, api_key)
where c.api <> 'ApiVersions' and c.api_version not between o.first_version and o.last_version
    and not list_contains(c.errors, 'UNSUPPORTED_VERSION')
group by c.client, c.broker_address, c.api, c.api_version, o.first_version, o.last_version
