-- One row for each client that uses versions below those that the newest release of Kafka accepts, if nothing shows
-- that it knows higher ones: it never asks which versions a broker offers, or stays below what a broker offers.
with uses as (
    select
        c.client, c.client_host, c.software, c.capture_point, c.broker_address, c.api_key, c.api, c.api_version,
        bool_or(coalesce(t.opened, false)) as is_whole, min_by(c.request_place, c.request_place.ordinal) as place
    from calls c
    left join connections t using (connection)
    group by
        c.client, c.client_host, c.software, c.capture_point, c.broker_address, c.api_key, c.api, c.api_version
),
clients as (
    select
        client, client_host, software, capture_point, bool_or(is_whole) as is_whole,
        bool_or(api = 'ApiVersions') as asks
    from uses
    group by client, client_host, software, capture_point
),
accepted as (
    select
        u.*, v.release, u.api_version < v.first_version as is_old,
        case when v.first_version = v.last_version then v.last_version::varchar
            else v.first_version || '-' || v.last_version end as versions,
        bool_or(u.api_version between v.first_version and v.last_version) over (
            partition by u.client, u.client_host, u.software, u.capture_point, u.api_key
        ) as has_accepted
    from uses u
    join newest_versions v using (api_key)
),
refused as (
    select
        a.client, a.client_host, a.software, a.capture_point, a.release, a.api_key, a.api, a.api_version, a.versions,
        a.place
    from accepted a
    join clients c
        on c.client = a.client and c.client_host = a.client_host
        and c.software is not distinct from a.software and c.capture_point is not distinct from a.capture_point
    left join offered_versions o on o.broker_address = a.broker_address and o.api_key = a.api_key
    where a.is_old and (
        (c.is_whole and not c.asks)
        or (not a.has_accepted and not list_contains(o.last_versions, a.api_version))
    )
),
by_version as (
    select
        client, client_host, software, capture_point, release, api_key, api_version,
        api || ' ' || api_version || ' (it accepts ' || versions || ')' as text, evidence(place) as places
    from refused
    group by client, client_host, software, capture_point, release, api_key, api_version, api, versions
)
select
    client,
    software,
    release,
    list(text order by api_key, api_version) as refused,
    count(*) as weight,
    flatten(list(places)) as evidence
from by_version
group by client, client_host, software, capture_point, release
