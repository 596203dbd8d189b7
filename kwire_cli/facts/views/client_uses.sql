-- One row for each client and version of an api that the client uses. A capture and a broker's log may show the same
-- exchanges: of a client, broker and version that both show, the larger numbers count.
with by_source as (
    select
        client, api_key, api_version, broker_address, source,
        count(*) filter (where kind = 'request') as requests,
        min(time) filter (where kind = 'request') as first_time,
        max(time) filter (where kind = 'request') as last_time
    from client_messages
    group by client, api_key, api_version, broker_address, source
),
by_broker as (
    select
        client, api_key, api_version, broker_address, max(requests) as requests, min(first_time) as first_time,
        max(last_time) as last_time
    from by_source
    group by client, api_key, api_version, broker_address
),
error_sources as (
    select client, api_key, api_version, broker_address, source, error, count(*) as occurrences
    from (select * exclude (errors), unnest(errors) as error from client_messages)
    group by client, api_key, api_version, broker_address, source, error
),
error_brokers as (
    select client, api_key, api_version, broker_address, error, max(occurrences) as occurrences
    from error_sources
    group by client, api_key, api_version, broker_address, error
),
by_error as (
    select client, api_key, api_version, error, sum(occurrences)::bigint as occurrences
    from error_brokers
    group by client, api_key, api_version, error
),
error_maps as (
    select
        client, api_key, api_version,
        map(list(error order by occurrences desc, error), list(occurrences order by occurrences desc, error)) as errors
    from by_error
    group by client, api_key, api_version
),
by_format as (
    select m.client, m.api_version, b.magic, count(*) as batches
    from client_messages m
    join batches b on b.connection = m.connection and b.frame = m.frame
    where m.api_key = 0 and m.api_version < 3 and m.kind = 'request'
    group by m.client, m.api_version, b.magic
),
format_maps as (
    select
        client, api_version,
        map(list(magic::varchar order by magic), list(batches order by magic)) as formats
    from by_format
    group by client, api_version
),
principals as (
    select client, api_key, api_version, list(distinct principal order by principal) as principals
    from client_messages
    where principal is not null
    group by client, api_key, api_version
),
api_names as (select api_key, max(api) as api from client_messages group by api_key)
select
    b.client,
    coalesce(p.principals, []) as principals,
    b.api_key,
    a.api,
    b.api_version,
    sum(b.requests)::bigint as requests,
    min(b.first_time) as first_time,
    max(b.last_time) as last_time,
    coalesce(e.errors, map()) as errors,
    list(b.broker_address order by b.broker_address) as brokers,
    coalesce(f.formats, map()) as formats
from by_broker b
join api_names a on a.api_key = b.api_key
left join error_maps e
    on e.client is not distinct from b.client and e.api_key = b.api_key and e.api_version = b.api_version
left join principals p
    on p.client is not distinct from b.client and p.api_key = b.api_key and p.api_version = b.api_version
left join format_maps f on f.client is not distinct from b.client and f.api_version = b.api_version and b.api_key = 0
group by b.client, p.principals, b.api_key, a.api, b.api_version, e.errors, f.formats
