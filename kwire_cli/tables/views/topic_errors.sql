-- One row for each topic of a response that has an error, of the topic itself or of one of its partitions.
with listed_topics as (select connection, frame, unnest(body.topics) as t from bodies_list_offsets_response),
listed as (select connection, frame, t.name as topic, unnest(t.partitions) as p from listed_topics),
described as (select connection, frame, unnest(body.topics) as t from bodies_describe_topic_partitions_response),
errors as (
    select connection, response_frame, topic, error_code from described_topics where error_code <> 0
    union
    select connection, response_frame, topic, error_code from produced where error_code <> 0
    union
    select connection, response_frame, topic, error_code from fetched where error_code <> 0
    union
    select connection, frame, topic, p.errorCode from listed where p.errorCode <> 0
    union
    select connection, frame, t.name, t.errorCode from described where t.errorCode <> 0
)
select c.*, e.topic, e.error_code
from errors e
join calls c on c.connection = e.connection and c.response_frame = e.response_frame
