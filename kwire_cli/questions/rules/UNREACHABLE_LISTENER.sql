-- One row for each address that Metadata names and to which a host has no connection, and one for each client that asks
-- for Metadata again and again without ever going where it leads.
with attempts as (
    select
        p.client_host, p.broker_address, count(*) filter (where p.outcome = 'refused') as refused,
        count(*) filter (
            where p.outcome = 'silent' and p.syns >= $least_syns and p.broker_address not in (
                select broker_address from connections where client_bytes > 0 and not broker_heard
            )
        ) as silent,
        count(*) filter (where p.outcome = 'accepted') as accepted,
        evidence(case when p.outcome <> 'accepted' then p.place end) as evidence
    from connection_places p
    where p.opened
    group by p.client_host, p.broker_address
),
advertised as (
    select client_host, address, list(distinct client order by client) as clients, max(software) as software
    from described_brokers
    group by client_host, address
),
unreached as (
    select t.*, a.clients, a.software
    from attempts t
    join advertised a on a.client_host = t.client_host and a.address = t.broker_address
    where t.accepted = 0 and t.refused + t.silent > 0
),
stuck as (
    select
        d.client, d.client_host, max(d.software) as software, list(distinct d.address order by d.address) as addresses,
        count(distinct d.response_place.ordinal) as responses,
        seconds_between(min(d.response_time), max(d.response_time)) as lasted_s, evidence(d.response_place) as evidence
    from described_brokers d
    where not exists (
        select 1 from unreached u where u.client_host = d.client_host and u.broker_address = d.address
    )
    group by d.client, d.client_host
),
uses as (
    select
        client, client_host, list(distinct broker_address) as brokers,
        bool_or(
            api not in ('ApiVersions', 'Metadata', 'DescribeCluster', 'InitProducerId', 'FindCoordinator')
            and api not in ('SaslHandshake', 'SaslAuthenticate')
        ) as is_working
    from calls
    group by client, client_host
),
seen_openings as (select client, client_host from connection_places where opened group by client, client_host)
select
    u.clients, null as client, u.software, u.broker_address as address, null::varchar[] as addresses,
    u.refused, u.silent, case when u.silent = 0 then u.refused end as all_refused,
    case when u.refused = 0 then u.silent end as all_silent,
    case when u.silent > 0 and u.refused > 0 then u.refused + u.silent end as mixed,
    null as responses, null as lasted_s, u.refused + u.silent as weight, u.evidence
from unreached u
union all
select
    [s.client], s.client, s.software, null, s.addresses, null, null, null, null, null, s.responses, s.lasted_s, s.responses, s.evidence
from stuck s
join uses u using (client, client_host)
join seen_openings o using (client, client_host)
where not u.is_working and s.responses >= $least_responses and not list_has_any(s.addresses, u.brokers)
    and s.lasted_s between $least_s and $most_pause_s * (s.responses - 1)
