-- One row for each broker that ended all its connections at once and did not answer again.
select
    e.broker_address,
    strftime(e.began, '%H:%M:%S') as stopped,
    e.connections,
    e.clients,
    nullif(count(c.connection), 0) as refused,
    e.evidence,
    e.connections as weight
from broker_events e
left join connections c
    on c.broker_address = e.broker_address and c.outcome = 'refused' and c.first_time >= e.began
where e.event = 'stopped' and e.ended is null
group by e.broker_address, e.began, e.connections, e.clients, e.evidence
