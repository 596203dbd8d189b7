-- One row for each client that a coordinator does not let into a group, and each error, unless the client comes in
-- later. It may have been in the group before.
with let_in as (
    select group_id, client, max(joined_ordinal) as last_ordinal from group_members where is_accepted group by group_id, client
)
select
    e.group_id,
    e.client,
    e.reason as error,
    nullif(count(*), 1) as times,
    first(e.detail order by e.number) as detail,
    case when e.reason = 'INCONSISTENT_GROUP_PROTOCOL' then g.assignor end as assignor,
    count(*) as weight,
    evidence(e.place) as evidence
from group_events e
join groups g using (group_id)
left join let_in l on l.group_id = e.group_id and l.client = e.client
where e.kind = 'error' and list_contains($refusals, e.reason) and coalesce(e.ordinal > l.last_ordinal, true)
group by e.group_id, e.client, e.reason, g.assignor
