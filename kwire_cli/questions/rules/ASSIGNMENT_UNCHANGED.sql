-- One row for each group of consumers of which rebalances ended with the same assignment as before.
with again as (
    select r.*, l.group_id is not null as is_loop
    from rebalances r
    join groups g using (group_id)
    left join (select distinct group_id from group_loops) l using (group_id)
    where not r.is_forming and g.is_consuming and g.protocol is distinct from 'share'
),
totals as (select group_id, count(*) as rebalances from again group by group_id)
select
    a.group_id,
    case when count(a.away_s) = 0 then 'kept' end as in_case,
    t.rebalances,
    bool_or(a.is_loop) as is_loop,
    count(*) as unchanged,
    nullif(first(a.client order by a.number), '') as client,
    nullif(first(a.reason order by a.number), '') as reason,
    nullif(greatest(first(a.triggers order by a.number) - 1, 0), 0) as more_triggers,
    first(a.triggers order by a.number) = 0 or null as is_unknown,
    count(*) as weight,
    coalesce(evidence(a.trigger_place), evidence(a.place)) as evidence
from again a
join totals t using (group_id)
where a.is_unchanged
group by a.group_id, t.rebalances
