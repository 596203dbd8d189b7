-- One row for each of the keys, values and headers of records: how many there are, and how many bytes they and their
-- lengths take, compressed records as they decompress.
with fields as (
    select path, value_kind, prefix_bytes, value_bytes, count from costs
    union all
    select path, value_kind, prefix_bytes, value_bytes, count from unpacked_costs
),
named as (
    select unnest(['header keys', 'headers']) as content, prefix_bytes, value_bytes, count
    from fields
    where value_kind = 'record header' and path like '%.key'
    union all
    select 'header values', prefix_bytes, value_bytes, count
    from fields
    where value_kind = 'record header' and path not like '%.key'
    union all
    select 'headers', prefix_bytes, value_bytes, 0
    from fields
    where value_kind = 'record header' and path not like '%.key'
    union all
    select 'headers', prefix_bytes, 0, 0
    from fields
    where value_kind = 'record framing' and (path = 'headers' or path like '%.headers')
    union all
    select value_kind[8:] || 's', prefix_bytes, value_bytes, count
    from fields
    where value_kind in ('record key', 'record value')
),
added as (
    select
        content,
        sum(count)::bigint as count,
        sum(value_bytes)::bigint as bytes,
        sum(prefix_bytes)::bigint as framing_bytes
    from named
    group by content
    having sum(count) > 0 or sum(prefix_bytes) > 0
),
batches as (
    select
        sum(records) as records,
        sum(bytes - packed_bytes + unpacked_bytes) as whole_bytes,
        max(largest_key) as largest_key,
        max(largest_value) as largest_value,
        max(largest_headers) as largest_headers
    from batch_sizes
)
select
    a.content as what,
    a.count,
    a.bytes,
    mean_of(a.bytes, a.count) as mean,
    case a.content when 'keys' then largest_key when 'values' then largest_value when 'headers' then largest_headers end
        as largest,
    a.framing_bytes,
    mean_of(a.bytes + a.framing_bytes, b.records) as bytes_per_record,
    share_of(a.bytes + a.framing_bytes, b.whole_bytes) as share
from added a
cross join batches b
order by list_position(['keys', 'values', 'header keys', 'header values', 'headers'], a.content)
