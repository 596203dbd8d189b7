-- One row for each time that a broker ended all its connections at once and answered again later.
select
    e.broker_address,
    strftime(e.began, '%H:%M:%S') as stopped,
    strftime(e.ended, '%H:%M:%S') as back,
    e.lasted_s as down_s,
    e.connections,
    nullif(count(c.connection), 0) as refused,
    e.evidence,
    e.lasted_s as weight
from broker_events e
left join connections c
    on c.broker_address = e.broker_address and c.outcome = 'refused' and c.first_time between e.began and e.ended
where e.event = 'stopped' and e.ended is not null
group by e.broker_address, e.began, e.ended, e.lasted_s, e.connections, e.evidence
