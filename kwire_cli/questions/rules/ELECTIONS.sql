-- One row if the controllers voted, or if a controller began or ended an epoch of their quorum.
with votes as (
    select connection, frame, unnest(flatten([t.partitions for t in body.topics])) as p from bodies_vote_request
),
begun as (
    select connection, frame, unnest(flatten([t.partitions for t in body.topics])) as p
    from bodies_begin_quorum_epoch_request
),
ended as (
    select connection, frame, unnest(flatten([t.partitions for t in body.topics])) as p
    from bodies_end_quorum_epoch_request
),
parts as (
    select
        connection, frame, case when p.preVote then 'pre-vote' else 'vote' end as event, p.replicaId as node,
        p.replicaEpoch as epoch
    from votes
    union all
    select connection, frame, 'begun', p.leaderId, p.leaderEpoch from begun
    union all
    select connection, frame, 'ended', p.leaderId, p.leaderEpoch from ended
),
events as (
    select p.*, c.request_time as time, c.request_place as place
    from parts p
    join calls c using (connection, frame)
    where p.node >= 0 and p.epoch >= 0 and c.request_time is not null
)
select
    nullif(count(*) filter (where event = 'pre-vote'), 0) as pre_votes,
    nullif(count(*) filter (where event = 'vote'), 0) as votes,
    list_sort(list(distinct 'controller ' || node) filter (where event = 'vote')) as voters,
    list_sort(list(distinct 'controller ' || node || ' from epoch ' || epoch) filter (where event = 'begun')) as begun,
    list_sort(list(distinct 'controller ' || node || ' gave up epoch ' || epoch) filter (where event = 'ended')) as ended,
    seconds_between(min(time), max(time)) as lasted_s,
    count(distinct epoch) filter (where event = 'vote') as weight,
    evidence(place) as evidence
from events
having count(*) > 0
