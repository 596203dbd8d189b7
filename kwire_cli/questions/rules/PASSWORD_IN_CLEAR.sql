-- One row for each client that logs in with SASL PLAIN on connections without TLS. Clients of brokers are one row.
with logins as (
    select
        case when c.is_internal then 'brokers and controllers' else 'client ' || c.client end as who,
        c.software, c.broker_address, c.connection, c.place
    from calls c
    join bodies_sasl_handshake_request q using (connection, frame)
    where q.body.mechanism = 'PLAIN' and c.source = 'capture' and len(c.errors) = 0
        and c.connection not in (select connection from frames where protocol = 'tls')
        and exists (
            from frames t
            where t.connection = c.connection and t.frame > c.frame
                and (t.kind = 'sasl-token' or t.api = 'SaslAuthenticate')
        )
)
select
    who,
    max(software) as software,
    count(distinct connection) as connections,
    list_sort(list(distinct broker_address)) as listeners,
    count(*) as weight,
    evidence(place) as evidence
from logins
group by who
