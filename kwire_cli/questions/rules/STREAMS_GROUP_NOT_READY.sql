-- One row for each streams group of which a coordinator says that topics are missing or do not match, unless a member
-- gets a task later.
with ready as (
    select group_id, max(number) as last_number from group_events where len(assigned) > 0 group by group_id
),
said as (
    select
        e.group_id, e.number, e.detail, e.place,
        list_filter(string_split(e.reason, ', '), lambda status: list_contains($about_topics, status)) as statuses
    from group_events e
    left join ready r using (group_id)
    where e.kind = 'status' and coalesce(e.number > r.last_number, true)
)
select
    group_id,
    last(statuses order by number) as statuses,
    rtrim(left(last(detail order by number), $most_shown), '.') as detail,
    evidence(place) as evidence
from said
where len(statuses) > 0
group by group_id
