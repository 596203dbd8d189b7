-- One row for each topic that brokers named, and then no longer knew or named with another topic id.
with there as (
    select cluster_id, topic, max(place.ordinal) as ordinal, max(response_time) as seen_time
    from described_topics
    where error_code = 0
    group by cluster_id, topic
),
gone as (
    select
        d.cluster_id, d.topic, t.seen_time, count(*) as answers, min(d.response_time) as gone_time,
        list_sort(list(distinct d.client)) as clients, evidence(d.place) as evidence
    from described_topics d
    join there t on t.topic = d.topic and t.cluster_id is not distinct from d.cluster_id
    where d.error_code in (3, 100) and d.place.ordinal > t.ordinal and not d.is_internal
    group by d.cluster_id, d.topic, t.seen_time
),
deletions as (
    select unnest(topics) as topic, client, place
    from calls
    where api = 'DeleteTopics' and is_answered and len(errors) = 0
),
deleters as (
    select topic, list_sort(list(distinct client)) as deleters, min(place) as place
    from deletions
    group by topic
),
ids as (
    select
        coalesce(cluster_id, '') as cluster, topic, topic_id, min(response_time) as first_time,
        max(response_time) as last_time, min(place) as first_place
    from described_topics
    where error_code = 0 and topic_id <> 'AAAAAAAAAAAAAAAAAAAAAA' and not is_internal
    group by 1, topic, topic_id
),
again as (
    select old.topic, max(old.last_time) as seen_time, new.first_time as again_time, new.first_place as place
    from ids old
    join ids new on new.cluster = old.cluster and new.topic = old.topic and new.first_time > old.last_time
    group by old.topic, new.first_time, new.first_place
),
first_reads as (
    select
        a.topic, a.again_time, f.client, f.topic_partition,
        arg_min({'offset': f.fetch_offset, 'start': f.log_start_offset}, f.request_time) as first,
        max(f.software) as software, min(f.place) as place
    from again a
    join fetched f on f.topic = a.topic and f.request_time >= a.again_time
    where not f.is_internal and f.error_code = 0
        and f.client in (select client from fetched o where o.topic = a.topic and o.request_time < a.again_time)
    group by a.topic, a.again_time, f.client, f.topic_partition
),
skipping as (
    select
        topic, again_time, max(software) as software, list_sort(list(distinct client)) as readers,
        arg_max(topic_partition, first.offset) as partition, max(first.offset) as offset,
        list_sort(list(place))[:10] as evidence
    from first_reads
    where first.offset > first.start
    group by topic, again_time
)
select
    g.topic,
    g.clients,
    seconds_between(g.seen_time, g.gone_time) as after_s,
    g.answers,
    d.deleters,
    g.answers as weight,
    list_prepend(d.place, g.evidence) as evidence
from gone g
left join deleters d using (topic)
where g.answers >= $least_answers or (d.topic is not null and not list_has_all(d.deleters, g.clients))
union all by name
select
    a.topic,
    'again' as in_case,
    s.software,
    seconds_between(a.seen_time, a.again_time) as again_s,
    d.deleters,
    s.readers,
    s.partition as partition_name,
    s.offset as fetch_offset,
    1 as weight,
    [d.place, a.place] || coalesce(s.evidence, []) as evidence
from again a
left join deleters d using (topic)
left join skipping s on s.topic = a.topic and s.again_time = a.again_time
