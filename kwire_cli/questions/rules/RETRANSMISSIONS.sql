-- One row for each client, broker and direction in which many segments are sent again.
with slowest as (
    select connection, max(latency_us) as latency_us, arg_max(place, latency_us) as place
    from calls
    where is_answered and not delayed
    group by connection
),
directions as (
    select
        connection, client_host, broker_address, place, 'client' as side, client_bytes as size,
        client_again_segments as segments, client_again_bytes as again
    from connection_places
    union all
    select
        connection, client_host, broker_address, place, 'broker', broker_bytes, broker_again_segments, broker_again_bytes
    from connection_places
),
sums as (
    select
        d.client_host, d.broker_address, d.side, sum(d.segments)::bigint as segments, sum(d.again)::bigint as again,
        sum(d.size) as size, max(s.latency_us) filter (where d.segments > 0) / 1e6 as slowest_s,
        evidence(case when d.segments > 0 then d.place end) as connection_evidence,
        evidence(case when d.segments > 0 and s.latency_us >= 1e6 * $least_wait_s then s.place end) as answer_evidence
    from directions d
    left join slowest s using (connection)
    where d.size is not null
    group by d.client_host, d.broker_address, d.side
)
select
    client_host as client,
    case when side = 'client' then client_host else broker_address end as sender,
    case when side = 'client' then broker_address else client_host end as receiver,
    segments,
    again,
    100 * again / size as share_percent,
    case when slowest_s >= $least_wait_s then slowest_s end as slowest_s,
    segments as weight,
    list_concat(answer_evidence, connection_evidence)[:10] as evidence
from sums
where segments >= $least_segments and again >= $least_share * size and again < $most_share * size
