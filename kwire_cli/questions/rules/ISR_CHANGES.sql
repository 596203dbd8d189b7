-- One row for each broker whose replicas are out of sync, for no reason that another rule names.
with replicas as (select *, unnest(last_replicas) as node from partition_states),
compared as (
    select
        *,
        list_contains(replicas, node) and not list_contains(isr, node) as is_out,
        case when list_contains(lag(isr) over by_time, node) then lag(isr) over by_time end as isr_before,
        first_value(
            case when list_contains(isr, node) then {'time': response_time, 'isr': isr, 'place': response_place} end
            ignore nulls
        ) over (by_time rows between 1 following and unbounded following) as back
    from replicas
    window by_time as (partition by cluster, topic_partition, node order by response_time, response_place.ordinal)
),
absences as (
    select *, row_number() over (
        partition by cluster, topic_partition, node order by response_time, response_place.ordinal
    ) as nth
    from compared
    where is_out
),
unexplained as (
    select *, row_number() over (partition by cluster, node order by response_time, topic_partition) as nth_partition
    from absences a
    where a.nth = 1 and not exists (
        select 1 from broker_events e
        where e.broker = a.node and e.began <= a.response_time + to_seconds($lead_s)
            and coalesce(e.ended, a.response_time) >= coalesce(a.time_before, a.response_time)
    )
),
brokers as (
    select
        cluster,
        node,
        list_sort(list(topic_partition)) as names,
        count(*) as partitions,
        count(isr_before) as left_partitions,
        count(back) as returned,
        count(*) filter (where back is null and last_named > response_time) as still_out,
        any_value({
            'name': topic_partition, 'isr_before': isr_before, 'isr': isr, 'back_isr': back.isr,
            'away_s': seconds_between(response_time, back.time)
        }) filter (where nth_partition = 1) as first,
        list_distinct(list(response_place) || list(back.place)) as places
    from unexplained
    group by cluster, node
)
select
    node, names, partitions, left_partitions, returned,
    case when first.isr_before is not null then true end as has_left,
    case when first.isr_before is null then true end as was_missing,
    case when partitions > 1 then first.name end as first_name,
    '[' || array_to_string(first.isr_before, ',') || ']' as isr_before,
    '[' || array_to_string(first.isr, ',') || ']' as isr,
    '[' || array_to_string(first.back_isr, ',') || ']' as back_isr,
    first.away_s,
    nullif(still_out, 0) as still_out,
    nullif(partitions - returned - still_out, 0) as unnamed,
    partitions as weight,
    list_sort(places)[:10] as evidence
from brokers
