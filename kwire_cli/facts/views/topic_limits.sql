-- One row for each topic whose max.message.bytes is known: the value that a request set or a response reported last.
with requested as (
    select c.place.ordinal as ordinal, unnest(q.body.topics) as t
    from bodies_create_topics_request q
    join calls c on c.connection = q.connection and c.frame = q.frame
    where c.is_answered and len(c.errors) = 0
),
created as (
    select c.place.ordinal as ordinal, unnest(a.body.topics) as t
    from bodies_create_topics_response a
    join calls c on c.connection = a.connection and c.response_frame = a.frame
),
described as (
    select c.place.ordinal as ordinal, unnest(a.body.results) as t
    from bodies_describe_configs_response a
    join calls c on c.connection = a.connection and c.response_frame = a.frame
),
altered as (
    select c.place.ordinal as ordinal, unnest(q.body.resources) as t
    from bodies_incremental_alter_configs_request q
    join calls c on c.connection = q.connection and c.frame = q.frame
    where c.is_answered and len(c.errors) = 0
),
limits as (
    select ordinal, t.name as topic, list_filter(t.configs, lambda k: k.name = 'max.message.bytes')[1].value as value
    from requested
    union all
    select ordinal, t.name, list_filter(t.configs, lambda k: k.name = 'max.message.bytes')[1].value from created
    union all
    select ordinal, t.resourceName, list_filter(t.configs, lambda k: k.name = 'max.message.bytes')[1].value
    from described
    where t.resourceType = 2
    union all
    select
        ordinal,
        t.resourceName,
        list_filter(t.configs, lambda k: k.name = 'max.message.bytes' and k.configOperation = 0)[1].value
    from altered
    where t.resourceType = 2
)
select topic, arg_max(try_cast(value as bigint), ordinal) as max_bytes
from limits
where try_cast(value as bigint) is not null
group by topic
