-- One row for each cluster and set of brokers without which partitions have no leader. A time without a leader ends
-- with the next response that names one.
with named as (
    select
        coalesce(cluster_id, '') as cluster, topic, topic_partition, leader, replicas, client, response_time, place,
        count(*) filter (where leader >= 0) over later as led_later,
        min(case when leader >= 0 then response_time end) over later as led_time
    from described_partitions
    where not is_internal
    window later as (
        partition by coalesce(cluster_id, ''), topic_partition order by response_time, place.ordinal
        rows between 1 following and unbounded following
    )
),
times as (
    select
        cluster, topic, topic_partition, last(replicas order by response_time) as replicas, count(*) as answers,
        list(client) as clients, min(response_time) as first_time, max(response_time) as last_time,
        any_value(led_time) as led_time, list(place) as places
    from named
    where leader < 0
    group by cluster, topic, topic_partition, led_later
    having seconds_between(min(response_time), max(response_time)) >= $least_s
),
running as (
    select t.cluster, t.topic_partition, t.first_time, list(distinct b.node) as nodes
    from times t
    join described_brokers b
        on coalesce(b.cluster_id, '') = t.cluster and b.response_time between t.first_time and t.last_time
    group by t.cluster, t.topic_partition, t.first_time
),
judged as (
    select
        t.*, list_sort(list_filter(t.replicas, lambda node: not list_contains(coalesce(r.nodes, []), node))) as missing
    from times t
    left join running r using (cluster, topic_partition, first_time)
)
select
    list_sort(list(distinct topic)) as topics,
    list_sort(list(distinct topic_partition)) as names,
    count(distinct topic_partition) as partitions,
    missing,
    case when len(missing) = 0 then list_sort(list_distinct(flatten(list(replicas)))) end as present,
    list_sort(list_distinct(flatten(list(clients)))) as clients,
    sum(answers)::bigint as answers,
    max(seconds_between(first_time, coalesce(led_time, last_time))) as span_s,
    case when bool_and(led_time is not null) then true end as is_back,
    sum(answers)::bigint as weight,
    list_sort(list_distinct(flatten(list(places))))[:10] as evidence
from judged
group by cluster, missing
