-- One row for each request, with its response if there is one. A connection that only repeats the requests of another
-- one, at a second capture point or behind a proxy, is left out.
with requests as (
    select
        *,
        coalesce(client_id, host_of(src), 'unknown') as client,
        coalesce(api, 'api ' || api_key) as named_api,
        bool_or(
            api in (
                'AllocateProducerIds', 'AlterPartition', 'AssignReplicasToDirs', 'BeginQuorumEpoch', 'BrokerHeartbeat',
                'BrokerRegistration', 'ControlledShutdown', 'ControllerRegistration', 'EndQuorumEpoch', 'Envelope',
                'FetchSnapshot', 'LeaderAndIsr', 'StopReplica', 'UpdateMetadata', 'UpdateRaftVoter', 'Vote'
            )
            or coalesce(
                regexp_matches(
                    client_id,
                    '^(broker-[0-9]+-(fetcher-[0-9]+|txn-marker-sender)|raft-client-.+'
                    || '|(AddPartitionsManager|NetworkPartitionMetadataClient|Persister)-client-[0-9]+)$'
                ),
                false
            )
            or coalesce(list_contains(topics, '__cluster_metadata') and api = 'Fetch', false)
        ) over (partition by connection) as of_broker,
        max(software) over (partition by connection) as software_of_connection,
        max(software) over (partition by capture_point, client_id) as software_of_client
    from frames
    where kind = 'request' and not (guess and api is null)
),
answers as (
    select
        *,
        lag(time) over before as time_before,
        lag(kind) over before as kind_before,
        case when lag(api_version) over before >= 6 or lag(api_key) over before <> 0
            then lag(throttle_ms) over before end as throttle_before_ms
    from frames
    where (kind = 'response' and request_frame is not null) or kind = 'gap'
    window before as (partition by connection, src order by frame)
)
select
    q.connection,
    q.frame,
    a.frame as response_frame,
    q.capture_point,
    q.source,
    q.named_api as api,
    q.api_key,
    q.api_version,
    q.client_id,
    q.client,
    coalesce(q.software, q.software_of_connection, q.software_of_client) as software,
    q.src as client_address,
    host_of(q.src) as client_host,
    coalesce(q.dst, 'unknown') as broker_address,
    q.broker,
    q.of_broker as is_internal,
    q.topics,
    coalesce(a.topics, []) as answered_topics,
    q.groups[1] as group_id,
    q.transactional_id,
    q.time as request_time,
    a.time as response_time,
    q.size + coalesce(q.missing_bytes, 0) as request_size,
    a.size as response_size,
    a.frame is not null as is_answered,
    q.expects_answer,
    coalesce(a.errors, []) as errors,
    coalesce(a.error_codes, []) as error_codes,
    coalesce(a.delayed, false) as delayed,
    q.wait_ms,
    q.allowed_ms,
    a.throttle_ms,
    a.latency_us,
    case
        when a.frame is null then null
        when q.source = 'request-log' then a.latency_us
        when a.kind_before = 'gap' or (a.kind_before is null and not coalesce(c.opened, true)) then null
        else greatest(
            date_diff(
                'microsecond',
                greatest(q.time, a.time_before + to_milliseconds(coalesce(a.throttle_before_ms, 0))),
                a.time
            ),
            0
        )
    end as served_us,
    len(q.anomalies) = 0 and len(coalesce(a.anomalies, [])) = 0 as is_sound,
    {
        'ordinal': q.ordinal, 'what': q.named_api || ' request', 'time': q.time, 'frame': q.frame, 'stream': q.stream,
        'packet': q.packet, 'file': q.file, 'line': q.line, 'capture': q.capture_point
    } as request_place,
    case when a.frame is not null then {
        'ordinal': a.ordinal, 'what': q.named_api || ' response', 'time': a.time, 'frame': a.frame, 'stream': a.stream,
        'packet': a.packet, 'file': a.file, 'line': a.line, 'capture': a.capture_point
    } end as response_place,
    coalesce(response_place, request_place) as place
from requests q
left join answers a
    on a.connection = q.connection and a.request_frame = q.frame and a.kind = 'response' and (a.src = q.dst or a.src is null)
left join connections c on c.connection = q.connection
where q.connection not in (select connection from repeated_connections)
