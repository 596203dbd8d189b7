-- One row for each group that rebalances: about its first rebalance with a grave cause, unless that is a loop, or about
-- its longest one.
with again as (
    select r.*, r.is_grave and l.group_id is null as is_alarming
    from rebalances r
    left join (select distinct group_id from group_loops) l using (group_id)
    where not r.is_forming
),
told as (
    select *, row_number() over (
        partition by group_id
        order by is_alarming desc, case when is_alarming then number end, coalesce(seconds, 0) desc, number
    ) as nth
    from again
),
totals as (
    select
        group_id, count(*) as rebalances, max(seconds) as longest_s, max(stopped_s) as stopped_s, max(away_s) as away_s,
        arg_max(away_member, away_s) as away_member,
        first(greatest(stopped_s, away_s) order by coalesce(seconds, 0) desc, number) as waited_s,
        nullif(count(*) filter (where is_unchanged), 0) as unchanged,
        coalesce(evidence(trigger_place), evidence(place)) as evidence
    from again
    group by group_id
)
select
    r.group_id,
    g.unit,
    case when not g.is_consuming then 'others' when r.is_alarming then 'grave' end as in_case,
    r.is_alarming,
    t.rebalances,
    case when t.rebalances = 1 then 'it' when r.seconds = t.longest_s then 'the longest' else 'one' end as which,
    r.seconds,
    nullif(r.client, '') as client,
    nullif(r.reason, '') as reason,
    case when r.triggers > 1 then r.triggers - 1 end as more_triggers,
    r.triggers = 0 or null as is_unknown,
    t.waited_s,
    case when t.stopped_s >= $least_shown_s then t.stopped_s end as stopped_s,
    case when t.away_s >= t.stopped_s + $least_shown_s then t.away_s end as away_s,
    t.away_member,
    case when g.is_consuming and g.protocol is distinct from 'share' then t.unchanged end as unchanged,
    t.rebalances as weight,
    t.evidence
from told r
join totals t using (group_id)
join groups g using (group_id)
where r.nth = 1
