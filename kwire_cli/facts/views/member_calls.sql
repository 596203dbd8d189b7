-- One row for each call of a member of a group, of all protocols of groups; a LeaveGroup has one for each member. The
-- member of a first JoinGroup is the one that the response names. `error` is the first error of the response.
with leaving as (
    select connection, frame, body.memberId as member_id, unnest(coalesce(body.members, [null])) as m
    from bodies_leave_group_request
),
requests as (
    select
        connection, frame, body.memberId as member_id, body.groupInstanceId as instance_id, null as member_epoch,
        body.sessionTimeoutMs as session_timeout_ms
    from bodies_join_group_request
    union all
    select connection, frame, body.memberId, body.groupInstanceId, body.generationId, null
    from bodies_sync_group_request
    union all
    select connection, frame, body.memberId, body.groupInstanceId, body.generationId, null
    from bodies_heartbeat_request
    union all
    select connection, frame, coalesce(m.memberId, member_id), m.groupInstanceId, -1, null
    from leaving
    union all
    select connection, frame, body.memberId, body.groupInstanceId, body.generationIdOrMemberEpoch, null
    from bodies_offset_commit_request
    union all
    select connection, frame, body.memberId, body.groupInstanceId, body.generationIdOrMemberEpoch, null
    from bodies_txn_offset_commit_request
    union all
    select connection, frame, body.memberId, body.instanceId, body.memberEpoch, null
    from bodies_consumer_group_heartbeat_request
    union all
    select connection, frame, body.memberId, null, body.memberEpoch, null
    from bodies_share_group_heartbeat_request
    union all
    select connection, frame, body.memberId, body.instanceId, body.memberEpoch, null
    from bodies_streams_group_heartbeat_request
),
responses as (
    select connection, frame, body.memberId as member_id from bodies_join_group_response
    union all
    select connection, frame, body.memberId from bodies_consumer_group_heartbeat_response
    union all
    select connection, frame, body.memberId from bodies_share_group_heartbeat_response
    union all
    select connection, frame, body.memberId from bodies_streams_group_heartbeat_response
)
select
    c.*,
    nullif(q.member_id, '') as asked_member_id,
    coalesce(nullif(q.member_id, ''), nullif(a.member_id, '')) as member_id,
    q.instance_id,
    coalesce(q.member_epoch, 0) as member_epoch,
    q.session_timeout_ms,
    c.errors[1] as error
from requests q
join calls c on c.connection = q.connection and c.frame = q.frame
left join responses a on a.connection = c.connection and a.frame = c.response_frame
