-- One row for each client: its id, software, address and capture point, what it asked and when, and the versions of each
-- api that it uses.
with by_error as (
    select client, error.key as error, sum(error.value)::bigint as occurrences
    from (select client, unnest(map_entries(errors)) as error from client_uses)
    group by client, error.key
),
error_maps as (
    select
        client,
        map(list(error order by occurrences desc, error), list(occurrences order by occurrences desc, error)) as errors
    from by_error
    group by client
),
principals as (
    select client, list(distinct principal order by principal) as principals
    from (select client, unnest(principals) as principal from client_uses)
    group by client
),
by_api as (
    select
        client, api_key,
        coalesce(api, 'api ' || api_key) || ' ' || string_agg(api_version, '+' order by api_version) as api
    from client_uses
    group by client, api_key, api
),
apis as (select client, list(api order by api_key) as apis from by_api group by client)
select
    u.client.client_id,
    u.client.software,
    u.client.address,
    u.client.capture_point as capture,
    coalesce(p.principals, []) as principals,
    sum(u.requests)::bigint as requests,
    min(u.first_time) as "first",
    max(u.last_time) as "last",
    coalesce(e.errors, map()) as errors,
    a.apis
from client_uses u
join apis a on a.client is not distinct from u.client
left join error_maps e on e.client is not distinct from u.client
left join principals p on p.client is not distinct from u.client
group by u.client, p.principals, e.errors, a.apis
order by
    u.client.client_id nulls last, u.client.software nulls last, u.client.address nulls last,
    u.client.capture_point nulls last
