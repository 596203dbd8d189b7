-- One row for each client and kind of resource that it may not use.
with refusals as (
    select
        c.client, c.software, c.api, c.connection, c.frame, c.place, c.response_time, e.error,
        case e.error
            when 'TOPIC_AUTHORIZATION_FAILED'
                then case when coalesce(e.topic, e.name) is null then c.topics else [coalesce(e.topic, e.name)] end
            when 'GROUP_AUTHORIZATION_FAILED' then [coalesce(e.name, c.group_id, q.body.key)]
            when 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'
                then [coalesce(e.transactional_id, e.name, c.transactional_id, q.body.key)]
        end as names
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    left join bodies_find_coordinator_request q on q.connection = c.connection and q.frame = c.frame
    where ends_with(e.error, '_AUTHORIZATION_FAILED')
),
refused_calls as (
    select
        client, software, api, error, place, response_time,
        list_filter(flatten(list(names)), lambda name: name is not null) as names
    from refusals
    group by client, software, api, error, connection, frame, place, response_time
)
select
    client,
    max(software) as software,
    error,
    count(*) as responses,
    case when count(*) > 1 then nullif(seconds_between(min(response_time), max(response_time)), 0) end as span_s,
    replace(lower(replace(error, '_AUTHORIZATION_FAILED', '')), '_', ' ') as kind,
    list_sort(list_distinct(flatten(list(names)))) as names,
    list_sort(list(distinct api)) as apis,
    responses as weight,
    evidence(place) as evidence
from refused_calls
group by client, error
