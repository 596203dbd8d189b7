-- One row for each client, broker, api and version that the broker refused. Of ApiVersions, whose versions every client
-- tries, one for each broker.
with refusals as (
    select
        case when api = 'ApiVersions' then 'broker ' || broker_address else 'client ' || client end as subject,
        client, software, broker_address, api, api_key, api_version, connection, response_frame, place
    from calls
    where list_contains(errors, 'UNSUPPORTED_VERSION')
),
messages as (
    select r.subject, r.broker_address, r.api, r.api_version, list_sort(list(distinct e.message))[1:3] as reasons
    from refusals r
    join errors e on e.connection = r.connection and e.frame = r.response_frame
    where e.error = 'UNSUPPORTED_VERSION' and e.message is not null
    group by r.subject, r.broker_address, r.api, r.api_version
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
    array_to_string(m.reasons, '; ') as reasons,
    requests as weight,
    evidence(r.place) as evidence
from refusals r
left join offered_versions o
    on o.broker_address = r.broker_address and o.api_key = r.api_key
    and r.api_version not between o.first_version and o.last_version
left join messages m
    on m.subject = r.subject and m.broker_address = r.broker_address and m.api = r.api and m.api_version = r.api_version
group by r.subject, r.broker_address, r.api, r.api_version, o.first_version, o.last_version, m.reasons
