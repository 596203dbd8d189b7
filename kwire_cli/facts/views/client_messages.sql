-- One row for each request of a client, and for each response to one. Requests that another broker passed on belong to
-- no client here.
with spoken as (
    select
        connection,
        frame,
        kind,
        time,
        client_id,
        software,
        host_of(client_address) as address,
        capture_point,
        coalesce(broker_address, 'unknown') as broker_address,
        api_key,
        api,
        api_version,
        errors,
        principal,
        api_key in (17, 18, 36) as is_opening
    from messages
    where api_key is not null and api_version is not null and not coalesce(forwarded, false)
),
-- a connection begins without software: SaslHandshake, ApiVersions and SaslAuthenticate do not tell it
named as (
    select
        *,
        min(software) over client as software_of_client,
        min(software) over client = max(software) over client
            and bool_and(software is not null or is_opening) over client as is_one
    from spoken
    window client as (partition by capture_point, client_id, address)
)
select
    {
        'client_id': client_id,
        'software': case when is_one then software_of_client else software end,
        'address': address,
        'capture_point': capture_point
    } as client,
    connection,
    frame,
    kind,
    time,
    broker_address,
    api_key,
    api,
    api_version,
    errors,
    principal
from named
