-- One row for each client and address between which another protocol is spoken in place of Kafka's: by the client to a
-- broker, or by the address that a client of Kafka takes for a broker.
with pieces as (
    select
        f.connection, f.protocol, f.frame, f.src = c.client_address as is_of_client,
        {
            'ordinal': f.ordinal, 'what': f.protocol, 'time': f.time, 'frame': f.frame, 'stream': f.stream,
            'packet': f.packet, 'file': f.file, 'line': null::bigint, 'capture': f.capture_point
        } as place
    from frames f
    join connections c using (connection)
    where f.kind = 'not-kafka' and f.protocol not in ('tls', 'proxy')
),
strange as (
    select
        connection, arg_min(protocol, frame) as protocol, arg_min(is_of_client, frame) as is_of_client,
        arg_min(place, frame) as place
    from pieces
    group by connection
),
brokers as (
    select broker_address as address from calls where is_answered
    union
    select key as address from names where kind = 'broker'
)
select
    p.client,
    p.broker_address,
    not s.is_of_client as is_answer,
    list_sort(list(distinct s.protocol)) as protocols,
    case when s.is_of_client then count(*) end as begun,
    count(*) filter (where p.broker_bytes = 0 and p.closed_by = 'broker') as closed,
    case
        when not s.is_of_client or closed = 0 then null
        when closed < begun then closed || ' of them'
        when closed = 1 then 'it'
        else 'them'
    end as object,
    case when not s.is_of_client then count(*) end as answered,
    count(*) as weight,
    evidence(s.place) as evidence
from strange s
join connection_places p using (connection)
where (s.is_of_client and p.broker_address in (select address from brokers))
    or (s.is_of_client and p.broker_bytes = 0 and p.closed_by = 'broker')
    or (not s.is_of_client and p.requests > 0)
group by p.client, p.broker_address, s.is_of_client
