-- Bytes of frames by field: lengths, counts and tags apart from values
select
    path,
    cast(sum(prefix_bytes) as bigint) as prefix_bytes,
    cast(sum(value_bytes) as bigint) as value_bytes,
    cast(sum(prefix_bytes + value_bytes) as bigint) as bytes,
    round(1e2 * sum(prefix_bytes + value_bytes) / sum(sum(prefix_bytes + value_bytes)) over (), 2) as percent
from costs
group by path
order by bytes desc, path
