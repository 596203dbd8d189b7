-- One row for each client that a coordinator does not let into a group, and each error, unless the client comes in
-- later. It may have been in the group before.
with let_in as (
    select group_id, client, max(number) as last_number from group_events where kind = 'join' group by group_id, client
),
messages as (
    select c.group_id, c.client, e.error, min(e.message) as message
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    group by all
)
select
    e.group_id,
    e.client,
    e.reason as error,
    e.reason as in_case,
    nullif(count(*), 1) as times,
    first(e.detail order by e.number) as detail,
    any_value(s.message) as message,
    case when e.reason = 'INCONSISTENT_GROUP_PROTOCOL' then g.assignor end as assignor,
    count(*) as weight,
    evidence(e.place) as evidence
from group_events e
join groups g using (group_id)
left join let_in l on l.group_id = e.group_id and l.client = e.client
left join messages s on s.group_id = e.group_id and s.client = e.client and s.error = e.reason
where e.kind = 'error' and list_contains($refusals, e.reason) and coalesce(e.number > l.last_number, true)
group by e.group_id, e.client, e.reason, g.assignor
