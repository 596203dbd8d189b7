-- One row for each share group whose records are delivered more than once.
with delivered as (
    select
        group_id, count(*) as times, max(coalesce(partitions, 0)) as most, evidence(place) as evidence,
        first(replace(detail, ': delivered', ' was delivered') order by coalesce(partitions, 0) desc, number) as records
    from group_events
    where kind = 'redelivery'
    group by group_id
),
released as (
    select group_id, sum(partitions) as records from group_events where kind = 'release' group by group_id
),
late as (
    select c.group_id, count(distinct (c.connection, c.frame)) as requests
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where e.error = 'INVALID_RECORD_STATE'
    group by c.group_id
)
select
    d.group_id,
    nullif(d.times, 1) as times,
    d.records,
    nullif(r.records, 0) as released,
    l.requests as late,
    case when l.requests > 0 then 'late' end as in_case,
    case when l.requests > 0 then 'INVALID_RECORD_STATE' end as late_error,
    d.most as weight,
    d.evidence
from delivered d
left join released r using (group_id)
left join late l using (group_id)
