-- Clients by id, applications before brokers and controllers, with their software, addresses, requests and errors.
select
    client_id,
    coalesce(list(distinct software order by software) filter (where software is not null), []) as software,
    coalesce(list(distinct client_host order by client_host) filter (where client_host is not null), []) as addresses,
    count(*) as requests,
    counts_of(errors) as errors,
    bool_and(is_internal) as is_internal
from calls
group by client_id
order by bool_and(is_internal), count(*) desc, client_id nulls first
