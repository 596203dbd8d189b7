-- Clients by id, software and address: requests, errors, apis, and when each was seen
with spoken as (
    select
        capture_point,
        case when min(capture_point) over () < max(capture_point) over () then capture_point end as capture,
        client_id,
        software,
        regexp_replace(case when kind = 'request' then src else dst end, ':[0-9]+$', '') as host,
        coalesce(api, concat('api ', cast(api_key as string))) as api,
        api_key in (17, 18, 36) as is_opening,
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
            and bool_and(software is not null or is_opening) over client as is_one
    from spoken
    window client as (partition by capture_point, client_id, host)
)
select
    client_id,
    case when is_one then software_of_client else software end as software,
    replace(replace(host, '[', ''), ']', '') as address,
    count(*) filter (where kind = 'request') as requests,
    cast(sum(cardinality(errors)) as bigint) as errors,
    min(time) filter (where kind = 'request') as first,
    max(time) filter (where kind = 'request') as last,
    concat_ws(', ', array_sort(array_agg(distinct api))) as apis,
    capture
from named
group by all
order by client_id nulls first, software nulls first, address, capture nulls first
