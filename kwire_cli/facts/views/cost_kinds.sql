-- One row for the bytes of each kind in a field, by whom they belong to; and one for the messages of each owner.
-- `side` is `wire`, or `unpacked` for what compressed records consist of.
-- `count` is how often there were bytes of this kind, `values` how many values a field has.
with sides as (
    select 'wire' as side, * from costs
    union all
    select 'unpacked' as side, * from unpacked_costs
),
added as (
    select
        * exclude (prefix_bytes, value_bytes, count, messages),
        sum(prefix_bytes)::bigint as prefix_bytes,
        sum(value_bytes)::bigint as value_bytes,
        sum(count)::bigint as count,
        sum(messages)::bigint as messages
    from sides
    group by all
),
parts as (
    select
        * exclude (prefix_kind, value_kind, prefix_bytes, value_bytes, messages),
        prefix_kind as bytes_kind,
        prefix_bytes as bytes,
        0 as values,
        0 as messages
    from added
    where prefix_bytes <> 0
    union all
    select
        * exclude (prefix_kind, value_kind, prefix_bytes, value_bytes, messages)
            replace (case when prefix_bytes = 0 or prefix_kind <> value_kind then count else 0 end as count),
        value_kind as bytes_kind,
        value_bytes as bytes,
        case when value_kind <> 'tag header' then count else 0 end as values,
        messages
    from added
)
select p.*, k.class
from parts p
left join byte_kinds k on k.kind = p.bytes_kind
