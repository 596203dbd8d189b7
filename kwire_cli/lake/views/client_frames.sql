-- A row for each request of a client, and for each response to one, with the client's software.
with spoken as (
    select
        capture_point,
        case when min(capture_point) over () < max(capture_point) over () then capture_point end as capture,
        client_id,
        software,
        regexp_replace(case when kind = 'request' then src else dst end, ':[0-9]+$', '') as host,
        coalesce(api, concat('api ', cast(api_key as string))) as api,
        api_key,
        api_version,
        kind,
        time,
        errors
    from frames
    where api_key is not null and api_version is not null
        and (kind = 'request' or (kind = 'response' and request_frame is not null))
),
-- a connection begins without software: SaslHandshake, ApiVersions and SaslAuthenticate do not tell it
named as (
    select
        *,
        min(software) over client as software_of_client,
        min(software) over client = max(software) over client
            and bool_and(software is not null or api_key in (17, 18, 36)) over client as is_one,
        bool_or(api_key = 18) over client as asks_versions
    from spoken
    window client as (partition by capture_point, client_id, host)
)
select
    capture_point,
    capture,
    client_id,
    case when is_one then software_of_client else software end as software,
    replace(replace(host, '[', ''), ']', '') as address,
    api,
    api_key,
    api_version,
    kind,
    time,
    errors,
    asks_versions
from named
