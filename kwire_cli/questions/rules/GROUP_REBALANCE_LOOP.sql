-- One row for each cause of a group that causes rebalances again and again.
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
    if(l.cause = 'session' and f.member is not null, 'stalled', l.cause) as what,
    case when l.is_consuming then what end as in_case,
    map {
        'poll': 'exceeded max.poll.interval.ms', 'session': 'vanished without leaving',
        'stalled': 'was silent for longer than its session', 'fenced': 'was fenced and joined again',
        'restart': 'left and was started anew', 'resubscribed': 'left and came back without a restart',
        'metadata': 'joined again by itself', 'subscription': 'changed its subscription'
    }[what] as deed,
    c.rebalances,
    case when c.rebalances is null then c.formed end as formed,
    l.span_s,
    l.times,
    l.more_clients,
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
