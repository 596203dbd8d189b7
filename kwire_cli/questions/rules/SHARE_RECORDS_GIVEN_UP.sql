-- One row for each share group with records that its members rejected, or that were not delivered again after their last
-- delivery, although nobody accepted them and the group went on.
with topics as (
    select connection, frame, body.groupId as group_id, unnest(body.topics) as t from bodies_share_acknowledge_request
    union all
    select connection, frame, body.groupId, unnest(body.topics) from bodies_share_fetch_request
),
partitions as (select connection, frame, group_id, t.topicId as topic_id, unnest(t.partitions) as p from topics),
batches_of_offsets as (
    select connection, frame, group_id, topic_id, p.partitionIndex as partition, unnest(p.acknowledgementBatches) as b
    from partitions
),
acknowledged as (
    select
        b.* exclude (b),
        unnest([
            {
                'first': b.b.firstOffset + i - 1,
                'last': if(len(b.b.acknowledgeTypes) = 1, b.b.lastOffset, b.b.firstOffset + i - 1),
                'type': type
            }
            for type, i in b.b.acknowledgeTypes
        ], recursive := true),
        c.client, c.software, c.request_time as time, c.request_place as place
    from batches_of_offsets b
    join calls c using (connection, frame)
),
answered_topics as (
    select c.connection, c.frame, c.response_time as time, c.response_place as place, unnest(r.body.responses) as t
    from bodies_share_fetch_response r
    join calls c on c.connection = r.connection and c.response_frame = r.frame
),
answered_partitions as (select * exclude (t), t.topicId as topic_id, unnest(t.partitions) as p from answered_topics),
answered as (
    select * exclude (p), p.partitionIndex as partition, unnest(p.acquiredRecords) as a from answered_partitions
),
fetches_of_groups as (
    select
        q.connection, q.frame, q.body.groupId as group_id,
        max(c.response_time) over (partition by q.body.groupId) as last_time
    from bodies_share_fetch_request q
    join calls c using (connection, frame)
),
deliveries as (
    select
        d.* exclude (a), d.a.firstOffset as first, d.a.lastOffset as last, d.a.deliveryCount as deliveries,
        q.group_id, q.last_time
    from answered d
    join fetches_of_groups q using (connection, frame)
),
given_up as (
    select d.group_id, d.topic_id, d.partition, d.first, d.last, d.deliveries, d.place
    from deliveries d
    where d.deliveries > 1 and seconds_between(d.time, d.last_time) >= $least_s
        and not exists (
            select 1 from deliveries n
            where n.group_id = d.group_id and n.topic_id = d.topic_id and n.partition = d.partition
                and n.place.ordinal > d.place.ordinal and n.first <= d.last and n.last >= d.first
        )
        and not exists (
            select 1 from acknowledged a
            where a.group_id = d.group_id and a.topic_id = d.topic_id and a.partition = d.partition
                and a.type in ($accept, $reject) and a.first <= d.last and a.last >= d.first
        )
),
lost as (
    select group_id, topic_id, partition, first, last, null as deliveries, client, software, place
    from acknowledged
    where type = $reject
    union all by name
    select * from given_up
)
select
    l.group_id,
    max(l.software) as software,
    sum(l.last - l.first + 1)::bigint as records,
    nullif(sum(l.last - l.first + 1) filter (where l.deliveries is null), 0)::bigint as rejected,
    list_sort(list(distinct l.client) filter (where l.client is not null)) as clients,
    nullif(sum(l.last - l.first + 1) filter (where l.deliveries is not null), 0)::bigint as archived,
    max(l.deliveries) as deliveries,
    list_sort(list(distinct coalesce(n.topic, l.topic_id) || '-' || l.partition || ' offset ' || l.first)) as offsets,
    records as weight,
    evidence(l.place) as evidence
from lost l
left join topic_names n using (topic_id)
group by l.group_id
