-- One row for each client and topic that it keeps asking for and that does not exist.
with known as (select topic, max(response_time) as last_time from described_topics where error_code = 0 group by topic),
unknown as (
    select
        client, client_host, topic, max(software) as software, count(distinct response_place) as answers,
        list_sort(list(distinct api)) as apis, max(response_time) as last_time,
        coalesce(seconds_between(min(response_time), max(response_time)), 0) as lasted_s,
        list_sort(
            list(distinct case error_code when 3 then 'UNKNOWN_TOPIC_OR_PARTITION' else 'UNKNOWN_TOPIC_ID' end)
        ) as names,
        list_sort(list(distinct response_place))[:10] as evidence
    from topic_errors
    where error_code in (3, 100)
    group by client, client_host, topic
),
alike as (
    select u.topic, arg_min(k.topic, {'edits': damerau_levenshtein(u.topic, k.topic), 'topic': k.topic}) as meant
    from (select distinct topic from unknown) u
    join known k on damerau_levenshtein(u.topic, k.topic) <= least($most_edits, len(u.topic) * $most_share)
    group by u.topic
)
select
    u.* exclude (last_time, topic),
    coalesce(u.topic, 'a topic without a name') as topic,
    case when k.last_time >= u.last_time then true end as came,
    case when k.last_time < u.last_time then true end as was_known,
    case when k.last_time is null then a.meant end as meant,
    u.answers as weight
from unknown u
left join known k on k.topic = u.topic
left join alike a on a.topic = u.topic
where u.answers >= $least_answers and not (came is not null and u.lasted_s < $settled_s)
