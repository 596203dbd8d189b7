-- One row for each member of the consumer protocol that kept partitions long after the coordinator took them away.
with assignments as (
    select
        *,
        last_value(assigned ignore nulls) over (
            member rows between unbounded preceding and 1 preceding
        ) as assigned_before,
        min(case when owned is not null or member_epoch < 0 then request_time end) over (
            member rows between 1 following and unbounded following
        ) as released_time,
        first_value(case when owned is not null or member_epoch < 0 then request_place end ignore nulls) over (
            member rows between 1 following and unbounded following
        ) as released_place,
        max(response_time) over (partition by group_id, member_id) as last_time
    from heartbeats
    window member as (partition by group_id, member_id order by request_place.ordinal)
),
late as (
    select
        *,
        list_filter(assigned_before, lambda p: not list_contains(assigned, p)) as revoked,
        seconds_between(response_time, coalesce(released_time, last_time)) as waited_s
    from assignments
    where assigned is not null and assigned_before is not null
),
waiting as (
    select l.group_id, l.member_id, l.frame, list_sort(list(distinct h.client)) as others
    from late l
    join heartbeats h using (group_id)
    where h.member_id <> l.member_id and h.request_time between l.response_time
        and coalesce(l.released_time, l.last_time) and len(l.revoked) > 0 and l.waited_s >= $least_s
    group by l.group_id, l.member_id, l.frame
)
select
    l.group_id,
    l.client,
    l.software,
    l.new_member_epoch,
    l.revoked,
    l.waited_s,
    case when l.released_time is null then l.waited_s end as kept_s,
    w.others,
    l.waited_s as weight,
    [l.response_place, l.released_place] as evidence
from late l
left join waiting w using (group_id, member_id, frame)
where len(l.revoked) > 0 and l.waited_s >= $least_s
