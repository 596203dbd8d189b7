-- One row for each address that several brokers advertise.
with addresses as (
    select
        connection,
        frame,
        address,
        list(distinct node order by node) as nodes,
        sum(count(*)) over (partition by connection, frame) as brokers,
        any_value(place) as place
    from described_brokers
    where host <> ''
    group by connection, frame, address
)
select
    address,
    nodes,
    len(nodes) as sharing,
    cast(brokers as bigint) as brokers,
    count(*) as responses,
    responses as weight,
    evidence(place) as evidence
from addresses
where len(nodes) > 1
group by address, nodes, brokers
