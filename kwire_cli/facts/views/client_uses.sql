-- One row for each client and version of an api that the client uses.
with formats as (
    select m.client, m.api_key, m.api_version, counts_of([b.magic::varchar]) as formats
    from client_messages m
    join batches b on b.connection = m.connection and b.frame = m.frame
    where m.api_key = 0 and m.api_version < 3 and m.kind = 'request'
    group by m.client, m.api_key, m.api_version
),
uses as (
    select
        client,
        coalesce(list(distinct principal order by principal) filter (where principal is not null), []) as principals,
        api_key,
        max(max(api)) over (partition by api_key) as api,
        api_version,
        count(*) filter (where kind = 'request') as requests,
        min(time) filter (where kind = 'request') as first_time,
        max(time) filter (where kind = 'request') as last_time,
        counts_of(errors) as errors,
        list(distinct broker_address order by broker_address) as brokers
    from client_messages
    group by client, api_key, api_version
)
select u.*, coalesce(f.formats, map()) as formats
from uses u
left join formats f
    on f.client is not distinct from u.client and f.api_key = u.api_key and f.api_version = u.api_version
