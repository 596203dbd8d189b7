-- One row for each node that fetched snapshots of the metadata log.
select
    q.body.replicaId as node,
    count(*) as requests,
    case when count(*) > 1 then seconds_between(min(c.request_time), max(c.request_time)) end as lasted_s,
    requests as weight,
    evidence(c.place) as evidence
from bodies_fetch_snapshot_request q
join calls c using (connection, frame)
where q.body.replicaId >= 0
group by q.body.replicaId
