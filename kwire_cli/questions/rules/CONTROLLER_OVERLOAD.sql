-- One row for each controller, or broker that forwards to it, that answered requests late. BROKER_STOOD_STILL finds
-- controllers that stood still.
with late as (
    select
        c.broker_address, c.api, c.request_time, c.response_time, c.latency_us, c.place,
        list_contains(c.errors, 'REQUEST_TIMED_OUT') as has_timed_out,
        c.api in (
            'AlterPartition', 'BrokerHeartbeat', 'BrokerRegistration', 'AllocateProducerIds', 'Envelope'
        ) as is_of_broker
    from calls c
    where c.api in (
            'AlterPartition', 'CreateTopics', 'CreatePartitions', 'DeleteTopics', 'BrokerHeartbeat',
            'BrokerRegistration', 'AllocateProducerIds', 'AlterPartitionReassignments', 'IncrementalAlterConfigs',
            'ElectLeaders', 'Envelope'
        )
        and c.latency_us is not null and not c.delayed
        and (
            list_contains(c.errors, 'REQUEST_TIMED_OUT') or c.latency_us / 1e6 >= case
                when c.api in ('AlterPartition', 'BrokerHeartbeat', 'AllocateProducerIds') then $least_s
                else $least_making_s
            end
        )
        and not exists (
            select 1 from broker_events e
            where e.broker_address = c.broker_address and e.event = 'stood still'
                and c.response_time between e.ended and e.last_time
        )
),
changes as (
    select broker_address, request_time as time, 1 as change from late
    union all
    select broker_address, response_time, -1 from late
),
waiting as (
    select
        broker_address,
        sum(change) over (
            partition by broker_address order by time, change rows between unbounded preceding and current row
        ) as waiting
    from changes
),
most_waiting as (select broker_address, max(waiting)::bigint as waiting from waiting group by broker_address),
by_api as (select broker_address, api, count(*) as requests from late group by broker_address, api),
apis as (select broker_address, list(api || ' ' || requests order by api) as apis from by_api group by broker_address)
select
    l.broker_address,
    case when bool_or(l.is_of_broker) then l.broker_address end as controller,
    case when not bool_or(l.is_of_broker) then l.broker_address end as forwarder,
    count(*) as requests,
    a.apis,
    max(l.latency_us) as longest_us,
    case when w.waiting > 1 then w.waiting end as waiting,
    nullif(count(*) filter (where l.has_timed_out), 0) as timed_out,
    count(*) as weight,
    evidence(l.place) as evidence
from late l
join apis a on a.broker_address = l.broker_address
join most_waiting w on w.broker_address = l.broker_address
group by l.broker_address, a.apis, w.waiting
having count(*) >= $least_requests
