-- One row for each client of a group that causes rebalances again and again in the same way.
with counted as (
    select group_id, count(*) as formed, nullif(count(*) filter (where not is_forming), 0) as rebalances
    from rebalances
    group by group_id
),
delivered as (
    select
        group_id,
        first(replace(detail, ': delivered', ' was delivered') order by coalesce(partitions, 0) desc, number) as records
    from group_events
    where kind = 'redelivery'
    group by group_id
),
fenced as (select distinct group_id, member from group_events where kind = 'fenced')
select
    l.group_id,
    l.client,
    l.is_grave,
    case
        when not l.is_consuming then l.cause || '_of_others'
        when l.cause = 'session' and f.member is not null then 'stalled'
        else l.cause
    end as in_case,
    c.rebalances,
    case when c.rebalances is null then c.formed end as formed,
    l.span_s,
    l.times,
    case when l.cause = 'poll' then m.rebalance_timeout_s end as timeout_s,
    case when l.cause not in ('poll', 'restart') then nullif(regexp_extract(l.text, '(?s): (.*)', 1), '') end as detail,
    case when l.cause = 'session' then d.records end as delivered,
    l.times as weight,
    l.evidence
from group_loops l
join counted c using (group_id)
left join delivered d using (group_id)
left join fenced f on f.group_id = l.group_id and f.member = l.member
left join group_members m on m.group_id = l.group_id and m.member = l.member
