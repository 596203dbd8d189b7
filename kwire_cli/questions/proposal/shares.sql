-- A row is a kind of message with new fields, or all: what these cost if no message sets them, and if every one does.
with totals as (
    select
        coalesce(p.message, 'all messages') as message,
        count(*) filter (form = 'plain') as messages,
        sum(unset - before) filter (form = 'plain') as plain_unset,
        sum(filled - before) filter (form = 'plain') as plain_set,
        sum(unset - before) filter (form = 'tagged') as tagged_unset,
        sum(filled - before) filter (form = 'tagged') as tagged_set,
        grouping(p.message) as rank
    from prices as p
    group by grouping sets ((p.message), ())
    having grouping(p.message) = 0 or count(distinct p.message) > 1
)
select
    *,
    round((plain_unset - tagged_unset) / nullif((tagged_set - tagged_unset) - (plain_set - plain_unset), 0), 6)
        as loses_from
from totals
where plain_unset is not null and tagged_unset is not null
order by rank, message
