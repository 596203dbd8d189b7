-- One row for each group of clients, api and error, with how many responses have it.
with failed as (
    select
        names[$by] as name,
        api, api_key, unnest(errors) as error
    from profile_calls
    where not is_of_broker
)
select name, max(api) as api, api_key, error, count(*) as responses
from failed
group by name, api_key, error
order by name, api_key, error
