-- One row for each topic in a Metadata response.
with topics as (select connection, frame, body.clusterId as cluster_id, unnest(body.topics) as t from bodies_metadata_response)
select
    c.*,
    r.cluster_id,
    coalesce(nullif(r.t.name, ''), n.topic, r.t.topicId) as topic,
    r.t.topicId as topic_id,
    r.t.errorCode as error_code
from topics r
join calls c on c.connection = r.connection and c.response_frame = r.frame
left join topic_names n on n.topic_id = r.t.topicId
