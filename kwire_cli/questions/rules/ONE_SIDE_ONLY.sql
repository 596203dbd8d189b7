-- One row for each broker of whose connections a capture point has one direction alone. Who the broker is has to be
-- known: from the opening of the connection, from its frames, from another connection or from Metadata.
with spoken as (
    select connection, count(*) as lines, bool_or(kind in ('request', 'response')) as has_frames
    from frames
    group by connection
),
brokers as (
    select c.broker_address as address
    from connections c
    left join spoken s using (connection)
    where c.opened or s.has_frames
    union
    select key as address from names where kind = 'broker'
),
sides as (
    select
        c.capture_point, c.broker_address, coalesce(s.lines, 0) as lines,
        case
            when c.client_heard and c.broker_heard then 'both'
            when c.client_heard and coalesce(c.client_bytes, 1) > 0 then 'client'
            when c.broker_heard and coalesce(c.broker_bytes, 1) > 0 then 'broker'
        end as side
    from connections c
    left join spoken s using (connection)
    where (c.opened or not c.is_unused) and c.broker_address in (select address from brokers)
)
select
    broker_address,
    capture_point,
    count(*) as connections,
    min(side) as side,
    case when min(side) = 'client' then 'broker' else 'client' end as other_side,
    count(*) as weight
from sides
where side is not null
group by capture_point, broker_address
having min(side) = max(side) and min(side) <> 'both' and sum(lines) >= $least_lines
