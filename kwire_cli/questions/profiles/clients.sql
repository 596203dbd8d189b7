-- One row for each group of clients that are compared as one: by software, by client id, or all.
with named as (
    select
        names[$by] as name,
        software, client_id, request_time, response_time
    from profile_calls
    where not is_of_broker
)
select
    name,
    coalesce(list(distinct software order by software) filter (where software is not null), []) as software,
    coalesce(list(distinct client_id order by client_id) filter (where client_id <> ''), []) as client_ids,
    count(*) as requests,
    seconds_between(
        least(min(request_time), min(response_time)), greatest(max(request_time), max(response_time))
    ) as span_s
from named
group by name
order by name
