-- One row for each api that a broker offers, with the versions over all its ApiVersions responses. An answer that
-- refuses the version of ApiVersions itself names no other api.
with offers as (
    select c.broker_address, unnest(r.body.apiKeys) as offer
    from bodies_api_versions_response r
    join calls c on c.connection = r.connection and c.response_frame = r.frame
    where not list_contains(c.errors, 'UNSUPPORTED_VERSION')
)
select
    broker_address,
    offer.apiKey as api_key,
    min(offer.minVersion) as first_version,
    max(offer.maxVersion) as last_version,
    list(distinct offer.maxVersion) as last_versions
from offers
where offer.maxVersion is not null
group by broker_address, offer.apiKey
