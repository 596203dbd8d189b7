-- One row for each group of clients, api and field that requests set to something other than its default, with its
-- values, the most frequent first. Beyond $most_values values are not told apart.
with named as (
    select
        names[$by] as name,
        connection, frame, api_key
    from profile_calls
    where is_read and not is_of_broker
),
counted as (
    select n.name, n.api_key, f.path, coalesce(f.value, '') as value, count(*) as requests
    from named n
    join set_fields f on f.connection = n.connection and f.frame = n.frame
    group by n.name, n.api_key, f.path, f.value
)
select
    name,
    api_key,
    path,
    sum(requests)::bigint as requests,
    case when count(*) > $most_values then ['(many)']
        else coalesce(list(value order by requests desc, value) filter (where value <> ''), []) end as texts
from counted
group by name, api_key, path
order by name, api_key, path
