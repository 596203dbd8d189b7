-- One row for each combination of labels of the dimensions $by whose bytes an overlay changes, the largest change first.
-- The last row is the total.
with labelled as (
    select labels_of($by, cost_kinds, path, bytes_kind) as labels, side, bytes
    from cost_kinds
),
sizes as (
    select
        grouping(labels) = 1 as is_total,
        labels,
        coalesce(sum(bytes) filter (where side = 'written'), 0)::bigint as written_bytes,
        coalesce(sum(bytes) filter (where side = 'wire'), 0)::bigint as bytes
    from labelled
    group by grouping sets ((labels), ())
)
select *, bytes - written_bytes as change, share_of(bytes - written_bytes, written_bytes) as change_share
from sizes
where bytes <> written_bytes or is_total
order by is_total, abs(change) desc, labels
