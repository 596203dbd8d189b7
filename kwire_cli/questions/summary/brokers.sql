-- Brokers by address, with their requests, responses and errors.
with by_error as (
    select broker_address, error, count(*) as occurrences
    from (select broker_address, unnest(errors) as error from calls)
    group by broker_address, error
),
error_maps as (
    select broker_address, map(list(error order by occurrences desc, error), list(occurrences order by occurrences desc, error)) as errors
    from by_error
    group by broker_address
)
select
    c.broker_address as broker,
    max(c.broker) as node_id,
    count(*) as requests,
    count(*) filter (where c.is_answered) as responses,
    coalesce(e.errors, map()) as errors
from calls c
left join error_maps e on e.broker_address = c.broker_address
group by c.broker_address, e.errors
order by requests desc, broker
