-- One row for each broker that was the leader of partitions and is not any more, for no reason that another rule names.
with unexplained as (
    select
        *,
        row_number() over (
            partition by cluster, leader_before order by response_time, response_place.ordinal, topic_partition
        ) as nth
    from leader_changes c
    where not exists (
        select 1 from broker_events e
        where e.broker = c.leader_before and e.began <= c.response_time + to_seconds($lead_s)
            and coalesce(e.ended, c.response_time) >= coalesce(c.time_before, c.response_time)
    )
)
select
    leader_before,
    count(distinct topic_partition) as partitions,
    list_sort(list(distinct topic_partition)) as names,
    list_sort(list(distinct leader)) as leaders,
    any_value(topic_partition) filter (where nth = 1) as first_name,
    any_value(leader_epoch) filter (where nth = 1) as epoch,
    max(of_partition) as most_changes,
    count(*) as weight,
    list_sort(list(distinct response_place))[:10] as evidence
from unexplained
group by cluster, leader_before
