-- One row for each group of clients, api, field that requests set to something other than its default, and value.
with named as (
    select
        case $by when 'software' then software_name when 'client' then client_name else 'all clients' end as name,
        connection, frame, api_key
    from profile_calls
    where is_read and not is_of_broker
)
select n.name, n.api_key, f.path, coalesce(f.value, '') as value, count(*) as requests
from named n
join set_fields f on f.connection = n.connection and f.frame = n.frame
group by n.name, n.api_key, f.path, f.value
order by n.name, n.api_key, f.path, requests desc, value
