-- One row for each call whose client can be compared with others: a call of an application, or of a broker or controller
-- (`is_of_broker`). If a client's id is a node id, all its connections are a broker's as soon as one of them is. Requests
-- that another broker passed on are left out.
with broker_connections as (
    select connection from calls where is_internal
    union
    select connection from fetches where is_internal
),
broker_clients as (
    select distinct client_id, software
    from calls
    where connection in (select connection from broker_connections) and regexp_matches(client_id, '^[0-9]+$')
)
select
    c.connection,
    c.frame,
    c.response_frame,
    c.api,
    c.api_key,
    c.api_version,
    c.client_id,
    c.software,
    map {
        'software': coalesce(nullif(split_part(c.software, ' ', 1), ''), '(no name)'),
        'client': coalesce(nullif(c.client_id, ''), '(no name)'),
        'all': 'all clients'
    } as names,
    c.group_id,
    c.request_time,
    c.response_time,
    c.request_size,
    c.response_size,
    c.latency_us,
    c.errors,
    q.is_read and not q.is_misread as is_read,
    c.connection in (select connection from broker_connections) or b.client_id is not null as is_of_broker
from calls c
join frames q on q.connection = c.connection and q.frame = c.frame and q.kind = 'request'
left join broker_clients b on b.client_id = c.client_id and b.software is not distinct from c.software
where not coalesce(q.forwarded, false)
