-- Clients by id, applications before brokers and controllers, with their software, addresses, requests and errors.
with by_error as (
    select client_id, error, count(*) as occurrences
    from (select client_id, unnest(errors) as error from calls)
    group by client_id, error
),
error_maps as (
    select client_id, map(list(error order by occurrences desc, error), list(occurrences order by occurrences desc, error)) as errors
    from by_error
    group by client_id
)
select
    c.client_id,
    coalesce(list(distinct c.software order by c.software) filter (where c.software is not null), []) as software,
    coalesce(list(distinct c.client_host order by c.client_host) filter (where c.client_host is not null), []) as addresses,
    count(*) as requests,
    coalesce(e.errors, map()) as errors,
    bool_and(c.is_internal) as is_internal
from calls c
left join error_maps e on e.client_id is not distinct from c.client_id
group by c.client_id, e.errors
order by is_internal, requests desc, c.client_id nulls first
