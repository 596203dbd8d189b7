-- One row for each combination of labels of the dimensions $by, the most bytes first: what the bytes of $side are for.
-- The last row is the total. `count` is how often there were bytes if the rows are by field or kind, and else how many
-- messages there were.
with labelled as (
    select
        labels_of($by, cost_kinds, path, bytes_kind) as labels,
        case
            when list_contains($by::varchar[], 'kind') then count
            when list_contains($by::varchar[], 'field') then values
            else messages
        end as count,
        bytes,
        class
    from cost_kinds
    where
        side = $side
        and case
            when list_contains($by::varchar[], 'kind') then bytes <> 0
            when list_contains($by::varchar[], 'field') then path is not null
            else true
        end
),
amounts as (
    select
        grouping(labels) = 1 as is_total,
        labels,
        coalesce(sum(count), 0)::bigint as count,
        coalesce(sum(bytes), 0)::bigint as bytes,
        coalesce(sum(bytes) filter (where class = 'overhead'), 0)::bigint as overhead_bytes,
        coalesce(sum(bytes) filter (where class = 'unread'), 0)::bigint as unread_bytes
    from labelled
    group by grouping sets ((labels), ())
)
select
    *,
    count as messages,
    bytes as bar,
    share_of(bytes, max(bytes) filter (where is_total) over ()) as share,
    share_of(overhead_bytes, bytes) as overhead_share
from amounts
order by is_total, bytes desc, labels
