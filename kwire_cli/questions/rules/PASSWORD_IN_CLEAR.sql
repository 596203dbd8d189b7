-- One row for each host from which clients log in with SASL PLAIN on connections without TLS. Brokers are one row.
with logins as (
    select
        c.is_internal, case when not c.is_internal then c.client_host end as host, c.client, c.software,
        c.broker_address, c.connection, c.place
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
    case when is_internal then 'brokers and controllers' else 'client ' || arg_min(client, place.ordinal) end as who,
    case when not is_internal then nullif(count(distinct client) - 1, 0) end as more,
    host,
    max(software) as software,
    count(distinct connection) as connections,
    list_sort(list(distinct broker_address)) as listeners,
    count(*) as weight,
    evidence(place) as evidence
from logins
group by is_internal, host
