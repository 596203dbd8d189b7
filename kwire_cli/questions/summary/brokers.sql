-- Brokers by address, with their requests, responses and errors.
select
    broker_address as broker,
    max(broker) as node_id,
    count(*) as requests,
    count(*) filter (where is_answered) as responses,
    counts_of(errors) as errors
from calls
group by broker_address
order by requests desc, broker
