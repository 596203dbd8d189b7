-- One row for each topic and client whose largest batch is near the limit of the topic.
with largest as (
    select topic, client, max(software) as software, max(size) as size, arg_max(request_place, size) as place
    from sent_batches
    where crc_valid and coalesce(error not in ('MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'), true)
    group by topic, client
)
select
    b.topic,
    b.client,
    b.software,
    b.size,
    l.max_bytes as topic_bytes,
    case when l.max_bytes is null then $default_bytes end as default_bytes,
    b.size as weight,
    [b.place] as evidence
from largest b
left join topic_limits l using (topic)
where b.size between $least_share * coalesce(l.max_bytes, $default_bytes) and coalesce(l.max_bytes, $default_bytes)
