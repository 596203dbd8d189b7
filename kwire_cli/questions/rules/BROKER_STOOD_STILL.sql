-- One row for each time that a broker answered nothing while requests on several connections waited.
select
    broker_address,
    lasted_s as pause_s,
    seconds_between(ended, last_time) as burst_s,
    connections,
    waiting,
    clients,
    evidence,
    lasted_s as weight
from broker_events
where event = 'stood still'
