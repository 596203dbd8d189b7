-- One row for each group and error by which its coordinator does not take the assignment of the leader.
with failed as (
    select
        m.group_id, m.client, m.software, m.error, m.place,
        list_sum(
            list_transform(coalesce(q.body.assignments, []), lambda a: 3 * length(coalesce(a.assignment, '')) // 4)
        ) as assignment_bytes,
        len(q.body.assignments) as members
    from member_calls m
    join bodies_sync_group_request q on q.connection = m.connection and q.frame = m.frame
    where m.error is not null and m.error not in (
        'COORDINATOR_LOAD_IN_PROGRESS', 'COORDINATOR_NOT_AVAILABLE', 'FENCED_INSTANCE_ID', 'GROUP_AUTHORIZATION_FAILED',
        'ILLEGAL_GENERATION', 'NOT_COORDINATOR', 'REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID'
    )
)
select
    group_id,
    error,
    max(software) as software,
    list_sort(list(distinct client)) as clients,
    count(*) as times,
    nullif(max(assignment_bytes), 0) as assignment_bytes,
    nullif(max(members), 0) as members,
    count(*) as weight,
    evidence(place) as evidence
from failed
group by group_id, error
