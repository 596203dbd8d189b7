-- One row for each client and topic of which the client names partitions that Metadata does not have.
with counts as (
    select
        coalesce(cluster_id, '') as cluster, topic, max(partition) + 1 as partitions,
        list(distinct broker_address) as brokers
    from described_partitions
    group by all
),
named as (
    select client, client_host, software, api, topic, partition, error_code = 3 as is_refused, place from produced
    union all
    select client, client_host, software, api, topic, partition, error_code = 3, place from fetched where not is_internal
    union all
    select client, client_host, software, api, topic, partition, listed_offset < 0, place from listed_offsets
    union all
    select client, client_host, software, api, topic, partition, len(errors) > 0, place from committed
    union all
    select client, client_host, software, api, topic, partition, false, place from found_offsets
)
select
    n.client,
    max(n.software) as software,
    n.topic,
    list_sort(list(distinct n.partition)) as wrong,
    c.partitions,
    list_sort(list(distinct n.api)) as apis,
    count(distinct n.place) as requests,
    nullif(count(distinct n.place) filter (where n.is_refused), 0) as refused,
    requests as weight,
    list_sort(list(distinct n.place))[:10] as evidence
from named n
join (select topic, max(partitions) as partitions from counts group by topic having count(*) = 1) c using (topic)
where n.partition >= c.partitions
group by n.client, n.client_host, n.topic, c.partitions
