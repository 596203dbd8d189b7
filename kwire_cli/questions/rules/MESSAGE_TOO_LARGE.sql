-- One row for each topic and client of which a broker refused batches because of their size.
with refused as (
    select
        topic,
        client,
        max(software) as software,
        count(*) as batches,
        list(distinct records_size order by records_size desc) as sizes,
        min(records) as least_records,
        max(records) as most_records,
        evidence(place) as evidence
    from sent_batches
    where error in ('MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE')
    group by topic, client
),
accepted as (
    select topic, client, max(size) as largest
    from sent_batches
    where error is null
    group by topic, client
)
select
    r.topic,
    r.client,
    r.software,
    r.batches,
    r.sizes,
    case when r.least_records = r.most_records then r.most_records end as records,
    case when r.least_records < r.most_records then r.least_records end as least_records,
    r.most_records,
    l.max_bytes,
    case when l.max_bytes is null then a.largest end as accepted_bytes,
    r.batches as weight,
    r.evidence
from refused r
left join topic_limits l using (topic)
left join accepted a using (topic, client)
