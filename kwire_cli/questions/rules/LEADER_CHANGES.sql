-- One row for each broker that was the leader of partitions and is not any more, for no reason that another rule names.
with states as (
    select
        *,
        lag(leader) over before as leader_before,
        lag(leader_epoch) over before as epoch_before
    from partition_states
    where leader >= 0 and leader_epoch >= 0
    window before as (
        partition by cluster, topic_partition order by leader_epoch, response_time, response_place.ordinal
    )
),
changes as (
    select *, count(*) over (partition by cluster, topic_partition) as of_partition
    from states
    where leader <> leader_before and leader_epoch > epoch_before
),
unexplained as (
    select
        *,
        row_number() over (
            partition by cluster, leader_before order by response_time, response_place.ordinal, topic_partition
        ) as nth
    from changes c
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
