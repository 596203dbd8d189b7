-- One row for each change of a partition's leader, with the first response that names the new one. `of_partition` is how
-- many changes the partition has.
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
)
select *, count(*) over (partition by cluster, topic_partition) as of_partition
from states
where leader <> leader_before and leader_epoch > epoch_before
