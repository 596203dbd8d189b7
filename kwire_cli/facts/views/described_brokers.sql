-- One row for each broker in a Metadata response.
with brokers as (
    select connection, frame, body.clusterId as cluster_id, body.controllerId as controller, unnest(body.brokers) as b
    from bodies_metadata_response
)
select
    c.*,
    r.cluster_id,
    r.controller,
    r.b.nodeId as node,
    r.b.host as host,
    r.b.port as port,
    case when contains(r.b.host, ':') then '[' || r.b.host || ']' else r.b.host end || ':' || r.b.port as address
from brokers r
join calls c on c.connection = r.connection and c.response_frame = r.frame
