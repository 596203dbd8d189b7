-- One row for each request and response in the order of time, an arrow of a ladder. `words` are the values in its body
-- that matter in a sequence of calls, and `arrows` counts all rows, also those beyond $most. With $chosen, only frames
-- with these ordinals count. A request is unanswered if its connection was closed and it has no response.
with member_requests as (
    select connection, frame, body.memberEpoch as epoch from bodies_consumer_group_heartbeat_request
    union all
    select connection, frame, body.memberEpoch from bodies_share_group_heartbeat_request
    union all
    select connection, frame, body.memberEpoch from bodies_streams_group_heartbeat_request
),
member_responses as (
    select
        connection, frame, body.memberEpoch as epoch,
        if(
            body.assignment is null, null,
            coalesce(list_sum(list_transform(body.assignment.topicPartitions, lambda t: len(t.partitions))), 0)
        ) as assigned
    from bodies_consumer_group_heartbeat_response
    union all
    select
        connection, frame, body.memberEpoch,
        if(
            body.assignment is null, null,
            coalesce(list_sum(list_transform(body.assignment.topicPartitions, lambda t: len(t.partitions))), 0)
        )
    from bodies_share_group_heartbeat_response
    union all
    select connection, frame, body.memberEpoch, null from bodies_streams_group_heartbeat_response
),
generations as (
    select connection, frame, body.generationId as generation from bodies_heartbeat_request
    union all
    select connection, frame, body.generationId from bodies_sync_group_request
),
coordinators as (
    select
        connection, frame,
        list_prepend(
            {'node': body.nodeId, 'host': body.host, 'port': body.port},
            list_transform(body.coordinators, lambda c: {'node': c.nodeId, 'host': c.host, 'port': c.port})
        ) as found
    from bodies_find_coordinator_response
),
brokers as (
    select connection, frame, len(body.brokers) as brokers from bodies_metadata_response
    union all
    select connection, frame, len(body.brokers) from bodies_describe_cluster_response
),
values_of_requests as (
    select connection, frame, [concat_ws(' ', body.clientSoftwareName, body.clientSoftwareVersion)] as words
    from bodies_api_versions_request
    union all
    select connection, frame, [case when body.committed then 'commit' when not body.committed then 'abort' end]
    from bodies_end_txn_request
    union all
    select connection, frame, list_prepend(body.key, body.coordinatorKeys) from bodies_find_coordinator_request
    union all
    select connection, frame, [case when generation >= 0 then 'generation ' || generation end] from generations
    union all
    select
        connection, frame,
        [case when epoch < 0 then 'leaves' when epoch = 0 then 'joins' else 'epoch ' || epoch end]
    from member_requests
    union all
    select connection, frame, list_transform(body.members, lambda m: '"' || nullif(m.reason, '') || '"')[:1]
    from bodies_leave_group_request
    union all
    select connection, frame, [body.mechanism] from bodies_sasl_handshake_request
),
values_of_responses as (
    select
        connection, frame,
        [
            case when epoch >= 0 then 'epoch ' || epoch end,
            'assigned ' || assigned || ' partitions'
        ] as words
    from member_responses
    union all
    select connection, frame, [case when brokers > 0 then brokers || if(brokers = 1, ' broker', ' brokers') end]
    from brokers
    union all
    select
        connection, frame,
        list_transform(
            list_filter(found, lambda c: c.node >= 0)[:2],
            lambda c: 'node ' || c.node || ' ' || coalesce(c.host, '') || ':' || c.port
        )
    from coordinators
    union all
    select
        connection, frame,
        [
            case when body.producerId >= 0 then 'producer ' || body.producerId end,
            case when body.producerEpoch >= 0 then 'epoch ' || body.producerEpoch end
        ]
    from bodies_init_producer_id_response
    union all
    select
        connection, frame,
        [
            case when body.generationId >= 0 then 'generation ' || body.generationId end,
            case when body.generationId >= 0 and body.memberId <> '' and body.memberId = body.leader
                then concat_ws(' of ', 'leader', nullif(len(body.members), 0)) end
        ]
    from bodies_join_group_response
    union all
    select
        connection, frame,
        [case when first_offset >= 0 then 'offset ' || first_offset end]
    from (
        select connection, frame, body.responses[1].partitionResponses[1].baseOffset as first_offset
        from bodies_produce_response
    )
    union all
    select
        connection, frame,
        [case when body.errorCode <> 0 then 'has ' || nullif(array_to_string(body.mechanisms, ', '), '') end]
    from bodies_sasl_handshake_response
),
bodies as (
    select connection, frame, 'request' as kind, words from values_of_requests
    union all
    select connection, frame, 'response', words from values_of_responses
)
select
    count(*) over () as arrows,
    f.kind,
    f.time,
    f.frame,
    f.line,
    case when f.capture_point is null and min(f.file) over () <> max(f.file) over () then f.file else f.capture_point
        end as capture,
    coalesce(nullif(f.client_id, ''), if(f.kind = 'request', f.src, f.dst), 'unknown') as client,
    coalesce(host_of(if(f.kind = 'request', f.src, f.dst)), '') as client_host,
    coalesce(if(f.kind = 'request', f.dst, f.src), 'unknown') as broker,
    max(f.broker) over (partition by f.capture_point, if(f.kind = 'request', f.dst, f.src)) as node,
    coalesce(f.api, 'api ' || f.api_key) as api,
    f.api_version,
    if(f.kind = 'request', f.request_groups, []) as groups,
    if(f.kind = 'request', f.transactional_id, null) as transactional_id,
    if(f.kind = 'request', f.topics, []) as topics,
    coalesce(b.words, []) as words,
    f.throttle_ms,
    f.errors,
    not (f.kind = 'request' and f.expects_answer and r.frame is null and c.closed_by is not null) as is_answered,
    f.latency_us / 1e6 as latency_s
from frames f
left join bodies b on b.connection = f.connection and b.frame = f.frame and b.kind = f.kind
left join connections c on c.connection = f.connection
left join frames r on r.connection = f.connection and r.request_frame = f.frame and r.kind = 'response'
where f.kind in ('request', 'response') and not f.guess and f.api_key is not null
    and ($chosen is null or f.ordinal in (select unnest($chosen)))
order by f.time nulls first, f.ordinal, f.kind
limit $most
