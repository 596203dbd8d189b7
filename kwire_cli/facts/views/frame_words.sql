-- One row for each request and response with values in its body that matter in a sequence of calls: `words`.
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
)
select connection, frame, 'request' as kind, words from values_of_requests
union all
select connection, frame, 'response', words from values_of_responses
