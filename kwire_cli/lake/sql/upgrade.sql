-- Versions of each api that clients use, beside the highest that any client uses there: who stays behind
with spoken as (
    select
        capture_point,
        case when min(capture_point) over () < max(capture_point) over () then capture_point end as capture,
        client_id,
        software,
        regexp_replace(src, ':[0-9]+$', '') as host,
        coalesce(api, concat('api ', cast(api_key as string))) as api,
        api_key,
        api_version
    from frames
    where kind = 'request' and api_key is not null and api_version is not null
),
-- a connection begins without software: SaslHandshake, ApiVersions and SaslAuthenticate do not tell it
named as (
    select
        *,
        min(software) over client as software_of_client,
        min(software) over client = max(software) over client
            and bool_and(software is not null or api_key in (17, 18, 36)) over client as is_one,
        bool_or(api_key = 18) over client as asks_versions,
        max(api_version) over (partition by capture_point, api_key) as highest_of_all
    from spoken
    window client as (partition by capture_point, client_id, host)
)
select
    client_id,
    case when is_one then software_of_client else software end as software,
    replace(replace(host, '[', ''), ']', '') as address,
    api,
    min(api_version) as lowest,
    max(api_version) as highest,
    highest_of_all,
    count(*) as requests,
    asks_versions,
    capture
from named
group by all
order by client_id nulls first, software nulls first, address, api, capture nulls first
