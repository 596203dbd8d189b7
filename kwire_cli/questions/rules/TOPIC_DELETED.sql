-- One row for each topic that brokers named, and then no longer knew.
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
