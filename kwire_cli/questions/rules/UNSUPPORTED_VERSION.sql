-- One row for each client, broker, api and version that the broker refused. Of ApiVersions, whose versions every client
-- tries, one for each broker.
with refusals as (
    select
        case when c.api = 'ApiVersions' then 'broker ' || c.broker_address else 'client ' || c.client end as subject,
        c.client, c.software, c.broker_address, c.api, c.api_key, c.api_version, c.place, e.message
    from calls c
    left join (select connection, frame as response_frame, min(message) as message from errors group by all) e
        using (connection, response_frame)
    where list_contains(c.errors, 'UNSUPPORTED_VERSION')
)
select
    r.subject,
    min(r.client) as client,
    max(r.software) as software,
    r.broker_address,
    r.api,
    r.api_version,
    count(*) as requests,
    case when ends_with(r.api, 'GroupHeartbeat') and o.first_version is null then 'protocol' end as in_case,
    o.first_version,
    o.last_version,
    list_sort(list(distinct r.message) filter (where r.message is not null)) as reasons,
    requests as weight,
    evidence(r.place) as evidence
from refusals r
left join offered_versions o
    on o.broker_address = r.broker_address and o.api_key = r.api_key
    and r.api_version not between o.first_version and o.last_version
group by r.subject, r.broker_address, r.api, r.api_version, o.first_version, o.last_version
