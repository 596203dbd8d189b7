-- One row for each client: its id, software, address and capture point, what it asked and when, and the versions of each
-- api that it uses.
with totals as (
    select
        client,
        coalesce(list(distinct principal order by principal) filter (where principal is not null), []) as principals,
        count(*) filter (where kind = 'request') as requests,
        min(time) filter (where kind = 'request') as "first",
        max(time) filter (where kind = 'request') as "last",
        counts_of(errors) as errors
    from client_messages
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
    t.client.client_id,
    t.client.software,
    t.client.address,
    t.client.capture_point as capture,
    t.* exclude (client),
    a.apis
from totals t
join apis a on a.client is not distinct from t.client
order by
    t.client.client_id nulls last, t.client.software nulls last, t.client.address nulls last,
    t.client.capture_point nulls last
