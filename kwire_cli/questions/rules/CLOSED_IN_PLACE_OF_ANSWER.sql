-- One row for each client and broker that closed connections at a request for no cause that another rule names.
with judged as (
    select client, broker_address, bool_and(cause = 'login') and count(*) >= 2 as is_login
    from closed_requests
    where not is_internal
    group by client, broker_address
),
closed as (
    select r.*
    from closed_requests r
    left join judged j on j.client = r.client and j.broker_address = r.broker_address
    where r.cause = 'unknown' or (r.cause in ('login', 'limit') and not coalesce(j.is_login, false))
),
refused as (
    select client, broker_address, list(distinct text order by text) as refused
    from (
        select
            c.client, c.broker_address,
            'Kafka ' || v.release || ' accepts ' || c.api || ' ' || v.first_version || '-' || v.last_version as text
        from closed c
        join newest_versions v on v.api_key = c.api_key
        where c.api_version not between v.first_version and v.last_version
    )
    group by client, broker_address
)
select
    c.client,
    max(c.software) as software,
    c.broker_address,
    list_sort(list(distinct c.api || ' ' || c.api_version)) as apis,
    count(*) as connections,
    case when max(c.request_size) >= $least_bytes then max(c.request_size) end as largest,
    case when max(c.request_size) > $most_bytes then true end as is_too_large,
    r.refused,
    count(*) as weight,
    evidence(c.place) as evidence
from closed c
left join refused r on r.client = c.client and r.broker_address = c.broker_address
group by c.client, c.broker_address, r.refused
having count(*) filter (where c.cause <> 'limit') > 0 or count(*) < $least_limit
