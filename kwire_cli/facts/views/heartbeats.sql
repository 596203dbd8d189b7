-- One row for each ConsumerGroupHeartbeat (KIP-848). `owned` are the partitions that the member reports, `assigned`
-- those that the coordinator wants it to have; null where the message leaves them as they were.
with lists as (
    select connection, frame, 'request' as kind, body.topicPartitions as topics
    from bodies_consumer_group_heartbeat_request
    where body.topicPartitions is not null
    union all
    select connection, frame, 'response', body.assignment.topicPartitions
    from bodies_consumer_group_heartbeat_response
    where body.assignment.topicPartitions is not null
),
topics as (select connection, frame, kind, unnest(topics) as t from lists),
partitions as (select connection, frame, kind, t.topicId as topic_id, unnest(t.partitions) as partition from topics),
named as (
    select
        p.connection, p.frame, p.kind,
        list_sort(list(coalesce(n.topic, p.topic_id) || '-' || p.partition)) as topic_partitions
    from partitions p
    left join topic_names n using (topic_id)
    group by p.connection, p.frame, p.kind
)
select
    c.*,
    coalesce(nullif(q.body.memberId, ''), a.body.memberId) as member_id,
    q.body.memberEpoch as member_epoch,
    q.body.instanceId as instance_id,
    a.body.memberEpoch as new_member_epoch,
    coalesce(a.body.errorCode, 0) as error_code,
    case when q.body.topicPartitions is not null then coalesce(o.topic_partitions, []) end as owned,
    case when a.body.assignment is not null then coalesce(s.topic_partitions, []) end as assigned
from bodies_consumer_group_heartbeat_request q
join calls c on c.connection = q.connection and c.frame = q.frame
left join bodies_consumer_group_heartbeat_response a on a.connection = c.connection and a.frame = c.response_frame
left join named o on o.connection = q.connection and o.frame = q.frame and o.kind = 'request'
left join named s on s.connection = a.connection and s.frame = a.frame and s.kind = 'response'
