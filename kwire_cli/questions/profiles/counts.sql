-- One row for each group of clients and count: events of groups if a request is about a group, and batches if they wrote
-- any. `generations` are those of classic groups and the epochs of others.
with epochs as (
    select connection, frame, null as member_epoch from bodies_heartbeat_request
    union all
    select connection, frame, body.memberEpoch from bodies_consumer_group_heartbeat_request
    union all
    select connection, frame, body.memberEpoch from bodies_share_group_heartbeat_request
    union all
    select connection, frame, body.memberEpoch from bodies_streams_group_heartbeat_request
),
answers as (
    select connection, frame, body.generationId as generation from bodies_join_group_response
    union all
    select connection, frame, body.memberEpoch from bodies_consumer_group_heartbeat_response
    union all
    select connection, frame, body.memberEpoch from bodies_share_group_heartbeat_response
    union all
    select connection, frame, body.memberEpoch from bodies_streams_group_heartbeat_response
),
named as (
    select
        case $by when 'software' then c.software_name when 'client' then c.client_name else 'all clients' end as name,
        c.connection, c.frame, c.api, c.is_read, e.member_epoch,
        c.api in (
            'JoinGroup', 'SyncGroup', 'LeaveGroup', 'OffsetCommit', 'TxnOffsetCommit', 'Heartbeat',
            'ConsumerGroupHeartbeat', 'ShareGroupHeartbeat', 'StreamsGroupHeartbeat'
        ) as is_of_group,
        list_has_any(
            c.errors, ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH']
        ) as tells_of_rebalance,
        case when a.generation > 0 then {'group': c.group_id, 'number': a.generation} end as generation
    from profile_calls c
    left join epochs e on e.connection = c.connection and e.frame = c.frame
    left join answers a on a.connection = c.connection and a.frame = c.response_frame
    where not c.is_of_broker
),
events as (
    select
        name,
        count(*) filter (where api = 'JoinGroup' or member_epoch = 0) as joins,
        count(*) filter (where api = 'LeaveGroup' or member_epoch < 0) as leaves,
        count(*) filter (where tells_of_rebalance) as rebalances,
        count(*) filter (where api in ('OffsetCommit', 'TxnOffsetCommit')) as commits,
        count(distinct generation) as generations
    from named
    where is_of_group
    group by name
),
written as (
    select
        n.name, count(*) as batches, sum(b.records)::bigint as records, sum(b.size)::bigint as bytes
    from named n
    join batches b on b.connection = n.connection and b.frame = n.frame
    where n.is_read and b.magic = 2
    group by n.name
),
counted as (
    select
        coalesce(e.name, w.name) as name,
        unnest([
            {'number': 1, 'what': 'joins', 'total': e.joins, 'mean': null::double},
            {'number': 2, 'what': 'leaves', 'total': e.leaves, 'mean': null::double},
            {'number': 3, 'what': 'responses that told of a rebalance', 'total': e.rebalances, 'mean': null::double},
            {'number': 4, 'what': 'commits', 'total': e.commits, 'mean': null::double},
            {'number': 5, 'what': 'generations', 'total': e.generations, 'mean': null::double},
            {'number': 6, 'what': 'batches', 'total': w.batches, 'mean': null::double},
            {'number': 7, 'what': 'records per batch', 'total': null, 'mean': round(w.records / w.batches, 2)},
            {'number': 8, 'what': 'bytes per batch', 'total': null, 'mean': round(w.bytes / w.batches, 1)}
        ]) as c
    from events e
    full join written w on w.name = e.name
)
select name, c.number, c.what, c.total, c.mean, c.number >= 6 as is_of_batches
from counted
where coalesce(c.total, c.mean) is not null
order by name, c.number
