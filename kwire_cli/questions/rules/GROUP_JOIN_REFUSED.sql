-- One row for each client that a coordinator does not let into a group, and each error, unless the client comes in
-- later. It may have been in the group before.
with let_in as (
    select e.group_id, e.client, max(e.number) as last_number
    from group_events e
    join group_members m using (group_id, member)
    where e.kind = 'join' and m.is_accepted
    group by e.group_id, e.client
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
where e.kind = 'error' and list_contains($refusals, e.reason) and coalesce(e.number > l.last_number, true)
group by e.group_id, e.client, e.reason, g.assignor
