-- One row for each client that sends Produce requests with acks=0.
with sent as (
    select
        client,
        max(software) as software,
        list(distinct topic) as topics,
        any_value(request_place) as place
    from produced
    where acks = 0 and not is_answered
    group by client, connection, frame
)
select
    client,
    max(software) as software,
    count(*) as requests,
    list_sort(list_distinct(flatten(list(topics)))) as topics,
    requests as weight,
    evidence(place) as evidence
from sent
group by client
