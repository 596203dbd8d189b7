-- One row for each client and topic that it keeps asking for and that does not exist, or not any more since a time
-- that the capture does not show (see TOPIC_DELETED and UNKNOWN_PARTITION, which run before).
with known as (select topic, max(response_time) as last_time from described_topics where error_code = 0 group by topic),
unknown as (
    select
        c.client, c.client_host, e.topic, max(c.software) as software, count(distinct c.response_place) as answers,
        list_sort(list(distinct c.api)) as apis, list_sort(list(distinct e.error)) as errors,
        max(c.response_time) as last_time,
        coalesce(seconds_between(min(c.response_time), max(c.response_time)), 0) as lasted_s,
        list_sort(list(distinct c.response_place))[:10] as evidence
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where e.error in ('UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_TOPIC_ID') and e.topic <> ''
        and c.api in (
            'Metadata', 'Produce', 'Fetch', 'ListOffsets', 'DescribeTopicPartitions', 'OffsetForLeaderEpoch'
        )
        and e.topic not in (
            select error from explained
            where code in ('TOPIC_DELETED', 'UNKNOWN_PARTITION') and coalesce(client = c.client, true)
        )
    group by c.client, c.client_host, e.topic
),
alike as (
    select u.topic, arg_min(k.topic, {'edits': damerau_levenshtein(u.topic, k.topic), 'topic': k.topic}) as meant
    from (select distinct topic from unknown) u
    join known k on damerau_levenshtein(u.topic, k.topic) <= least($most_edits, len(u.topic) * $most_share)
    group by u.topic
)
select
    u.* exclude (last_time),
    case when k.last_time >= u.last_time then true end as came,
    case when k.last_time < u.last_time then true end as was_known,
    case when k.last_time is null then a.meant end as meant,
    u.answers as weight
from unknown u
left join known k on k.topic = u.topic
left join alike a on a.topic = u.topic
where u.answers >= $least_answers and not (came is not null and u.lasted_s < $settled_s)
