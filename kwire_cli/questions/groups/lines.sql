-- One row for each event of a group that is shown to people: the first $limit ones, or all if $limit is null. `in_case`
-- chooses its text.
with shown as (
    select
        *,
        row_number() over (partition by group_id order by number) as nth,
        count(*) over (partition by group_id) as events
    from group_events
    where (len($names) = 0 or group_id in $names)
        and kind not in ('assignment', 'epoch', 'rebalancing') and (kind <> 'rejoin' or reason is not null)
),
named as (
    select e.*, coalesce(m.name, left(e.member, 8), e.client) as name
    from shown e
    left join group_members m using (group_id, member)
    where coalesce(e.nth <= $limit, true)
),
changed as (
    select r.*, case when t.cause = 'metadata' then m.name || ' ' || t.text end as beginning
    from rebalances r
    left join rebalance_triggers t on t.group_id = r.group_id and t.rebalance = r.number and t.number = 0
    left join group_members m on m.group_id = t.group_id and m.member = t.member
)
select
    e.group_id,
    e.time,
    e.events,
    e.kind,
    case
        when e.kind = 'fenced' and e.reason = 'UNRELEASED_INSTANCE_ID' then 'error'
        else e.kind
    end as in_case,
    case
        when r.generation_before <> r.generation then r.generation_before || ' → ' || r.generation
        else coalesce(e.generation::varchar, '')
    end as generation,
    e.name,
    case
        when e.kind in ('join', 'rejoin') and starts_with(e.reason, 'joins') then null
        when e.kind = 'leave' and e.reason = 'leaves' then null
        else e.reason
    end as reason,
    e.detail,
    r.beginning,
    case when r.is_forming then 'forms' else 'rebalanced' end as deed,
    r.seconds,
    r.members,
    r.is_unchanged or null as is_unchanged,
    len(r.moved) = 0 and not r.is_unchanged and not r.is_forming or null as is_unmoved,
    case
        when len(r.moved) > 0 and not r.is_unchanged and not r.is_forming
        then len(r.moved) || ' ' || g.unit || case when len(r.moved) > 1 then 's' else '' end
    end as moved,
    partition_names(r.moved) as moved_names,
    g.unit,
    case when r.away_s >= $least_shown_s and r.away_s >= r.stopped_s + $least_shown_s then r.away_s end as away_s,
    r.away_member,
    case when r.stopped_s >= $least_shown_s then r.stopped_s end as stopped_s
from named e
join groups g using (group_id)
left join changed r
    on e.kind = 'rebalance' and r.group_id = e.group_id and r.generation is not distinct from e.generation
    and r.end_time is not distinct from e.time and r.place.ordinal = e.place.ordinal
order by e.group_id, e.number
