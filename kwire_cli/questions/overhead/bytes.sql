-- One row for each combination of labels of the dimensions $by, the most bytes first: what the bytes of $side are for.
-- `count` is how often there were some if the rows are by field or kind, and else how many messages there were.
with amounts as (
    select
        labels_of($by, cost_kinds, path, bytes_kind) as labels,
        case
            when list_contains($by::varchar[], 'kind') then sum(count)
            when list_contains($by::varchar[], 'field') then sum(values)
            else sum(messages)
        end::bigint as count,
        sum(bytes)::bigint as bytes,
        coalesce(sum(bytes) filter (where class = 'overhead'), 0)::bigint as overhead_bytes,
        coalesce(sum(bytes) filter (where class = 'unread'), 0)::bigint as unread_bytes
    from cost_kinds
    where
        side = $side
        and case
            when list_contains($by::varchar[], 'kind') then bytes <> 0
            when list_contains($by::varchar[], 'field') then path is not null
            else true
        end
    group by labels
)
select
    *,
    count as messages,
    bytes as bar,
    share_of(bytes, sum(bytes) over ()) as share,
    share_of(overhead_bytes, bytes) as overhead_share
from amounts
order by bytes desc, labels
