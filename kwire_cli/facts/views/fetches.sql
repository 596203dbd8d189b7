-- One row for each Fetch request, with its response if there is one. A Fetch that names a replica is a broker's or a
-- controller's (`is_internal`). `nth` counts the Fetch requests of a connection, and `had_session` is
-- true if the response before gave a fetch session (KIP-227).
with requests as (
    select
        connection,
        frame,
        coalesce(body.replicaId, -1) >= 0 or coalesce(body.replicaState.replicaId, -1) >= 0 as of_replica,
        body.minBytes as min_bytes,
        body.maxBytes as max_bytes,
        body.isolationLevel as isolation_level,
        body.sessionId as session_id,
        body.sessionEpoch as session_epoch,
        list_sum(list_transform(body.topics, lambda t: len(t.partitions))) as partitions_named,
        row_number() over (partition by connection order by frame) as nth
    from bodies_fetch_request
),
responses as (
    select
        connection,
        frame,
        body.errorCode as error_code,
        body.sessionId as new_session_id,
        list_sum(
            list_transform(
                flatten(list_transform(body.responses, lambda t: t.partitions)),
                lambda p: coalesce(p.recordsSizeInBytes, 0)
            )
        ) as records_size
    from bodies_fetch_response
)
select
    c.* replace (c.is_internal or q.of_replica as is_internal),
    q.nth,
    q.min_bytes,
    q.max_bytes,
    q.isolation_level,
    q.session_id,
    q.session_epoch,
    coalesce(q.partitions_named, 0) as partitions_named,
    a.error_code,
    a.new_session_id,
    lag(a.new_session_id <> 0 and a.error_code = 0) over (partition by q.connection order by q.frame) as had_session,
    coalesce(a.records_size, 0) as records_size
from requests q
join calls c on c.connection = q.connection and c.frame = q.frame
left join responses a on a.connection = c.connection and a.frame = c.response_frame
