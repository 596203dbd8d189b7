-- What is not in the inputs: bytes, beginnings and sides of connections, and what was spoken in place of Kafka.
with used as (select * from connections where not is_unused)
select 'gap' as what, anomalies[1] as name, count(*) as places, sum(size)::bigint as bytes, null as total
from frames
where kind = 'gap'
group by anomalies[1]
union all
select 'headless', null, count(*) filter (where not opened), null, count(*)
from used
having count(*) filter (where not opened) > 0
union all
select 'one-sided', null, count(*) filter (where not (client_heard and broker_heard)), null, count(*)
from used
having count(*) filter (where not (client_heard and broker_heard)) > 0
union all
select
    case when protocol = 'tls' and bool_or(reason is not null) then 'encrypted' else 'foreign' end,
    coalesce(protocol, 'unknown'), count(*), sum(size)::bigint, null
from frames
where kind = 'not-kafka' and coalesce(content, []) = []
group by protocol
order by what = 'gap' desc, what desc, bytes desc, name
