-- One row for each client that opens one short connection to a broker after another.
with logins as (
    select connection, bool_or(len(errors) > 0 and api in ('SaslHandshake', 'SaslAuthenticate')) as has_failed
    from calls
    group by connection
),
short as (
    select
        p.client, p.broker_address, p.software, p.first_time, p.closed_time, p.answers, p.place,
        count(*) over (
            partition by p.client, p.broker_address order by p.first_time
            range between current row and to_seconds($window_s) following
        ) as within_window
    from connection_places p
    left join logins l using (connection)
    left join tls t using (connection)
    where p.opened and p.outcome = 'accepted' and p.client_bytes > 0
        and not coalesce(l.has_failed, false) and len(list_filter(p.protocols, lambda name: name <> 'tls')) = 0
        and not (t.connection is not null and p.answers = 0 and (t.is_one_sided or t.is_failed))
        and not (p.closed_by = 'broker' and (p.unanswered > 0 or p.answers = 0))
        and seconds_between(p.first_time, p.closed_time) <= $short_s
        and seconds_between(coalesce(p.last_call_time, p.first_time), p.closed_time) < $idle_s
        and p.client not in (select client from dropped_responses)
),
densest as (
    select client, broker_address, max(within_window) as connections, arg_max(first_time, within_window) as first_time
    from short
    group by client, broker_address
    having max(within_window) >= $least_connections
)
select
    d.client,
    max(s.software) as software,
    d.broker_address,
    d.connections,
    seconds_between(d.first_time, max(s.first_time)) as lasted_s,
    $short_s as short_s,
    nullif(round(avg(s.answers), 1), 0) as answers,
    d.connections as weight,
    evidence(s.place) as evidence
from densest d
join short s
    on s.client = d.client and s.broker_address = d.broker_address
    and s.first_time between d.first_time and d.first_time + to_seconds($window_s)
group by d.client, d.broker_address, d.connections, d.first_time
