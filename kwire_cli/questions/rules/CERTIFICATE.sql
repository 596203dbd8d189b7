-- One row for each client or broker whose certificate the other side does not accept.
with refused as (
    select
        *,
        case when alert_by = 'client' then 'broker ' || broker_address else 'client ' || client_host end as owner
    from tls
    where verdict = 'certificate'
)
select
    owner,
    strftime(max(valid_until) filter (where valid_until < first_time), '%Y-%m-%d %H:%M:%S UTC') as expired,
    strftime(max(valid_from) filter (where valid_from > first_time), '%Y-%m-%d %H:%M:%S UTC') as begins,
    count(*) as connections,
    list_sort(list(distinct client_host)) as clients,
    list_sort(list(distinct broker_address)) as brokers,
    counted('with ' || failure) as failures,
    count(*) as weight,
    evidence(place) as evidence
from refused
group by owner
