-- One row for each state of a partition (leader, epoch, in-sync and all replicas) that differs from the one before,
-- with the first response that names it. Answers of brokers that do not know the newest epoch yet are left out.
-- `time_before` is when the partition was last named before, `last_named` when a response last named it at all,
-- and `last_replicas` are its newest replicas.
with altered_topics as (select connection, frame, unnest(body.topics) as t from bodies_alter_partition_response),
altered as (
    select connection, frame, nullif(t.topicName, '') as topic, t.topicId as topic_id, unnest(t.partitions) as p
    from altered_topics
),
listed_topics as (select connection, frame, unnest(body.topics) as t from bodies_describe_topic_partitions_response),
listed as (
    select connection, frame, nullif(t.name, '') as topic, t.topicId as topic_id, unnest(t.partitions) as p
    from listed_topics
),
responses as (
    select
        response_time, response_place, broker_address, cluster_id, topic_partition, leader, leader_epoch, isr,
        nullif(replicas, []) as replicas
    from described_partitions
    union all
    select
        c.response_time, c.response_place, c.broker_address, null,
        coalesce(a.topic, n.topic, a.topic_id) || '-' || a.p.partitionIndex, a.p.leaderId, a.p.leaderEpoch,
        list_sort(a.p.isr), null
    from altered a
    join calls c on c.connection = a.connection and c.response_frame = a.frame
    left join topic_names n on n.topic_id = a.topic_id
    union all
    select
        c.response_time, c.response_place, c.broker_address, null,
        coalesce(l.topic, n.topic, l.topic_id) || '-' || l.p.partitionIndex, l.p.leaderId, l.p.leaderEpoch,
        list_sort(l.p.isrNodes), nullif(list_sort(l.p.replicaNodes), [])
    from listed l
    join calls c on c.connection = l.connection and c.response_frame = l.frame
    left join topic_names n on n.topic_id = l.topic_id
),
clusters as (select broker_address, max(cluster_id) as cluster_id from described_brokers group by broker_address),
ordered as (
    select
        r.* exclude (cluster_id, replicas),
        coalesce(
            r.cluster_id,
            c.cluster_id,
            (select case when count(distinct cluster_id) = 1 then max(cluster_id) end from clusters),
            ''
        ) as cluster,
        r.replicas as named_replicas
    from responses r
    left join clusters c on c.broker_address = r.broker_address
    where r.leader is not null and len(r.isr) > 0
),
dated as (
    select
        *,
        coalesce(last_value(named_replicas ignore nulls) over until_here, isr) as replicas,
        max(leader_epoch) over until_here as newest_epoch,
        lag(response_time) over until_here as time_before,
        max(response_time) over whole as last_named
    from ordered
    window until_here as (
        partition by cluster, topic_partition order by response_time, response_place.ordinal
        rows between unbounded preceding and current row
    ),
    whole as (partition by cluster, topic_partition)
),
compared as (
    select
        *, {'leader': leader, 'epoch': leader_epoch, 'isr': isr, 'replicas': replicas} as state,
        lag(state) over (
            partition by cluster, topic_partition order by response_time, response_place.ordinal
        ) as state_before,
        last_value(replicas) over (
            partition by cluster, topic_partition order by response_time, response_place.ordinal
            rows between unbounded preceding and unbounded following
        ) as last_replicas
    from dated
    where coalesce(leader_epoch = newest_epoch, true)
)
select * exclude (named_replicas, newest_epoch, state, state_before)
from compared
where state is distinct from state_before
