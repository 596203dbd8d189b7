-- Errors in responses by api: how often each occurs, when first and last, and to which clients
with by_error as (
    select
        explode(errors) as error,
        replace(source, '-', ' ') as source,
        coalesce(api, cast(api_key as string)) as api,
        time,
        client_id
    from frames
    where kind = 'response'
)
select
    api,
    error,
    count(*) as responses,
    min(time) as first,
    max(time) as last,
    concat_ws(', ', array_sort(array_agg(distinct client_id))) as clients,
    source
from by_error
group by all
order by responses desc, source, api, error
