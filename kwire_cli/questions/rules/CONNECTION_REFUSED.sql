-- One row for each host and address whose connections are refused or get no answer, if no other rule explains it. An
-- address to which brokers and controllers connect is a controller's if Metadata does not name it.
with attempts as (
    select
        host_of(client_address) as client_host, broker_address, place,
        case when outcome = 'silent' and syns < $least_syns then null else outcome end as outcome,
        outcome <> 'silent' or broker_address not in (
            select broker_address from connections where client_bytes > 0 and not broker_heard
        ) as counts
    from connection_places
    where opened
),
of_controllers as (
    select distinct client_host
    from calls
    where api in ('BrokerHeartbeat', 'BrokerRegistration', 'ControllerRegistration', 'Vote', 'BeginQuorumEpoch')
)
select
    a.client_host as client,
    a.broker_address,
    count(*) filter (where a.outcome = 'refused') as refused,
    count(*) filter (where a.outcome = 'silent') as silent,
    case when silent = 0 then refused end as all_refused,
    case when refused = 0 then silent end as all_silent,
    case when refused > 0 and silent > 0 then refused + silent end as mixed,
    nullif(count(*) filter (where a.outcome = 'accepted'), 0) as accepted,
    case
        when accepted is null and a.client_host in (from of_controllers)
            and a.broker_address not in (select address from described_brokers)
            and exists (from explained where code = 'UNREACHABLE_LISTENER') then 'controller'
    end as in_case,
    refused + silent as weight,
    evidence(case when a.outcome <> 'accepted' then a.place end) as evidence
from attempts a
where a.counts and a.outcome is not null
    and a.broker_address not in (select error from explained)
    and a.broker_address not in (select broker_address from broker_events where event = 'stopped')
group by a.client_host, a.broker_address
having count(*) filter (where a.outcome <> 'accepted') > 0
