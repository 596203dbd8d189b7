-- One row for each client and broker that refused a partition again and again, because it does not lead it.
with refusals as (
    select
        c.client,
        c.client_host,
        c.broker_address,
        e.topic || coalesce('-' || e.partition, '') as topic_partition,
        max(c.software) as software,
        count(distinct (c.connection, c.frame)) as refused,
        seconds_between(min(c.response_time), max(c.response_time)) as span_s,
        list(distinct e.error) as errors,
        list(distinct e.current_leader) filter (where e.current_leader is not null) as leaders,
        evidence(c.place) as places
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where e.error in ('NOT_LEADER_OR_FOLLOWER', 'FENCED_LEADER_EPOCH', 'UNKNOWN_LEADER_EPOCH')
        and e.topic is not null and not c.is_internal
    group by c.client, c.client_host, c.broker_address, e.topic, e.partition
)
select
    client,
    max(software) as software,
    broker_address,
    list(topic_partition order by topic_partition) as partitions,
    cast(sum(refused) as bigint) as total,
    max(span_s) as longest_s,
    list_sort(list_distinct(flatten(list(errors)))) as errors,
    list_sort(list_distinct(flatten(list(coalesce(leaders, []))))) as leaders,
    total as weight,
    list_distinct(flatten(list(places))) as evidence
from refusals
where refused >= $least and span_s >= $least_s
group by client, client_host, broker_address
