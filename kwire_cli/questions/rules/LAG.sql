-- One row for each group, or client outside these groups, and topic whose partitions lag.
with numbered as (
    select
        *,
        row_number() over (of_subject order by time, ordinal) as nth,
        count(*) over (of_subject) as samples,
        greatest(count(*) over (of_subject) // 3, 1) as third
    from lag_samples
    window of_subject as (partition by group_id, client, client_host, broker_address, topic_partition)
),
trends as (
    select
        group_id, client, client_host, topic, partition, topic_partition, max(software) as software,
        arg_min(lag, nth) as first_lag, arg_max(lag, nth) as last_lag,
        nullif(seconds_between(min(time), max(time)), 0) as span_s,
        (arg_max(end_offset, nth) - arg_min(end_offset, nth)) / span_s as added_per_s,
        greatest(arg_max(position, nth) - arg_min(position, nth), 0) / span_s as done_per_s,
        max(samples) >= $least_samples and span_s >= $least_s
            and min(lag) filter (where nth > samples - third) >= $least_lag
            and min(lag) filter (where nth > samples - third)
                > $growth * max(lag) filter (where nth <= third) as grows,
        evidence(case when nth & (nth - 1) = 0 then place end) as places
    from numbered
    group by group_id, client, client_host, broker_address, topic, partition, topic_partition
    having count(*) >= $least_to_show and arg_max(lag, nth) >= $least_lag
),
members as (
    select client, client_host, group_id as of_group
    from calls
    where group_id is not null and api in ('JoinGroup', 'ConsumerGroupHeartbeat', 'OffsetCommit')
    group by client, client_host, group_id
),
of_clients as (
    select
        t.client, t.client_host, t.topic,
        list_sort(list(distinct m.of_group) filter (where m.of_group is not null)) as of_groups,
        bool_or(g.group_id is not null) as is_known
    from trends t
    left join members m using (client, client_host)
    left join trends g on g.group_id = m.of_group and g.topic = t.topic
    where t.client is not null
    group by t.client, t.client_host, t.topic
),
ranked as (
    select
        t.*, c.of_groups, row_number() over (of_topic order by t.grows desc, t.last_lag desc, t.partition) as nth,
        count(*) over (of_topic) as partitions, sum(t.last_lag) over (of_topic) as weight
    from trends t
    left join of_clients c on c.client = t.client and c.client_host = t.client_host and c.topic = t.topic
    where t.group_id is not null or not c.is_known
    window of_topic as (partition by t.group_id, t.client, t.client_host, t.topic)
)
select
    group_id,
    client,
    of_groups,
    software,
    topic,
    topic_partition,
    case when grows then 'grew' when last_lag < first_lag / $growth then 'shrank' else 'went' end as trend,
    first_lag,
    last_lag,
    span_s,
    added_per_s,
    done_per_s,
    nullif(partitions - 1, 0) as more_partitions,
    weight,
    places as evidence
from ranked
where nth = 1
