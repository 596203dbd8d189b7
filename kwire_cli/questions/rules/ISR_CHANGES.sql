-- One row for each broker whose replicas are out of sync, for no reason that another rule names.
with incomplete as (
    select cluster, topic_partition
    from partition_states
    group by cluster, topic_partition
    having bool_or(len(list_filter(replicas, lambda node: not list_contains(isr, node))) > 0)
),
placed as (
    select
        *,
        row_number() over (partition by cluster, topic_partition order by response_time, response_place.ordinal) as nth_state,
        count(*) over (partition by cluster, topic_partition) as states,
        lag(isr) over (partition by cluster, topic_partition order by response_time, response_place.ordinal) as isr_before
    from partition_states
    join incomplete using (cluster, topic_partition)
),
replicas as (select * exclude (replicas), unnest(replicas) as node from placed),
dated as (
    select
        *,
        min(case when not list_contains(isr, node) then nth_state end) over (partition by cluster, topic_partition, node) as gone_at,
        max(nth_state) over (partition by cluster, topic_partition, node) as last_at
    from replicas
),
absences as (
    select
        cluster, topic_partition, node, gone_at > 1 as has_left,
        min(response_time) filter (where nth_state = gone_at) as gone_time,
        min(time_before) filter (where nth_state = gone_at) as time_before,
        any_value(isr_before) filter (where nth_state = gone_at) as isr_before,
        any_value(isr) filter (where nth_state = gone_at) as isr,
        any_value(response_place) filter (where nth_state = gone_at) as gone_place,
        arg_min(isr, nth_state) filter (where nth_state > gone_at and list_contains(isr, node)) as isr_back,
        arg_min(response_time, nth_state) filter (where nth_state > gone_at and list_contains(isr, node)) as back_time,
        arg_min(response_place, nth_state) filter (where nth_state > gone_at and list_contains(isr, node)) as back_place,
        max(last_named) as last_named
    from dated
    where gone_at is not null and last_at = states
    group by cluster, topic_partition, node, gone_at
),
unexplained as (
    select *, row_number() over (partition by cluster, node order by gone_time, topic_partition) as nth
    from absences a
    where not exists (
        select 1 from broker_events e
        where e.broker = a.node and e.began <= a.gone_time + to_seconds($lead_s)
            and coalesce(e.ended, a.gone_time) >= coalesce(a.time_before, a.gone_time)
    )
)
select
    node,
    list_sort(list(distinct topic_partition)) as names,
    count(*) as partitions,
    count(*) filter (where has_left) as left_partitions,
    count(back_time) as returned,
    case when bool_or(has_left) filter (where nth = 1) then true end as has_left,
    case when bool_or(not has_left) filter (where nth = 1) then true end as was_missing,
    case when count(*) > 1 then any_value(topic_partition) filter (where nth = 1) end as first_name,
    '[' || array_to_string(any_value(isr_before) filter (where nth = 1), ',') || ']' as isr_before,
    '[' || array_to_string(any_value(isr) filter (where nth = 1), ',') || ']' as isr,
    '[' || array_to_string(any_value(isr_back) filter (where nth = 1), ',') || ']' as isr_back,
    any_value(seconds_between(gone_time, back_time)) filter (where nth = 1) as away_s,
    nullif(count(*) filter (where back_time is null and last_named > gone_time), 0) as still_out,
    nullif(count(*) filter (where back_time is null and not coalesce(last_named > gone_time, false)), 0) as unnamed,
    count(*) as weight,
    list_sort(list_distinct(list(distinct gone_place) || list(distinct back_place)))[:10] as evidence
from unexplained
group by cluster, node
