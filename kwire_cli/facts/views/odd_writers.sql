-- One row for each software and api whose requests have bytes that Kafka's own clients would not write.
with codes as (select writer, api, connection, frame, unnest(codes) as code from odd_requests),
meanings as (
    select c.writer, c.api, list(distinct c.code || coalesce(': ' || m.meaning, '')) as meanings
    from codes c
    left join anomaly_codes m using (code)
    group by c.writer, c.api
)
select
    o.writer,
    max(o.client) as client,
    max(o.software) as software,
    o.api,
    array_to_string(list_sort(list(distinct o.api_version)), ', ') as versions,
    array_to_string(list_sort(m.meanings), '; ') as meanings,
    count(*) as requests,
    bool_or(o.is_refused) as is_refused,
    requests as weight,
    evidence(o.place) as evidence
from odd_requests o
join meanings m using (writer, api)
group by o.writer, o.api, m.meanings
