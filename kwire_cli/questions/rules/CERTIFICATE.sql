-- One row for each client or broker whose certificate the other side does not accept.
with refused as (
    select
        *,
        case when alert_by = 'client' then 'broker ' || broker_address else 'client ' || client_host end as owner
    from tls
    where verdict = 'certificate'
),
failures as (
    select
        owner, failure, count(*) as connections, list(distinct client_host) as clients,
        list(distinct broker_address) as brokers,
        max(valid_until) filter (where valid_until < first_time) as expired,
        max(valid_from) filter (where valid_from > first_time) as begins,
        evidence(place) as evidence
    from refused
    group by owner, failure
)
select
    owner,
    strftime(max(expired), '%Y-%m-%d %H:%M:%S UTC') as expired,
    strftime(max(begins), '%Y-%m-%d %H:%M:%S UTC') as begins,
    sum(connections)::bigint as connections,
    list_sort(list_distinct(flatten(list(clients)))) as clients,
    list_sort(list_distinct(flatten(list(brokers)))) as brokers,
    list(connections || ' with ' || failure order by failure) as failures,
    sum(connections) as weight,
    flatten(list(evidence)) as evidence
from failures
group by owner
