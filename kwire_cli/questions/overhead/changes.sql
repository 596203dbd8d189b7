-- One row for each combination of labels of the dimensions $by whose bytes an overlay changes, the largest change first.
with sizes as (
    select
        labels_of($by, cost_kinds, path, bytes_kind) as labels,
        coalesce(sum(bytes) filter (where side = 'written'), 0)::bigint as written_bytes,
        coalesce(sum(bytes) filter (where side = 'wire'), 0)::bigint as bytes
    from cost_kinds
    group by labels
)
select *, bytes - written_bytes as change, share_of(bytes - written_bytes, written_bytes) as change_share
from sizes
where bytes <> written_bytes
order by abs(change) desc, labels
