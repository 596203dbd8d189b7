-- One row for each group of clients and time between requests that they send again and again: of a member of a group, or
-- of a partition of a topic. `config` is the configuration that has a part in the time; that of the newer heartbeats is
-- the group's, on the broker.
with repeated as (
    select connection, frame, 1 as number, 'heartbeat.interval.ms' as config, body.groupId || ' ' || body.memberId as key
    from bodies_heartbeat_request
    union all
    select connection, frame, 2, 'group.consumer.heartbeat.interval.ms', body.groupId || ' ' || body.memberId
    from bodies_consumer_group_heartbeat_request
    union all
    select connection, frame, 3, 'group.share.heartbeat.interval.ms', body.groupId || ' ' || body.memberId
    from bodies_share_group_heartbeat_request
    union all
    select connection, frame, 4, 'group.streams.heartbeat.interval.ms', body.groupId || ' ' || body.memberId
    from bodies_streams_group_heartbeat_request
    union all
    select connection, frame, 5, 'auto.commit.interval.ms', body.groupId || ' ' || body.memberId
    from bodies_offset_commit_request
),
written as (
    select connection, frame, coalesce(nullif(t.name, ''), t.topicId) as topic, unnest(t.partitionData) as p
    from (select connection, frame, unnest(body.topicData) as t from bodies_produce_request)
),
keyed as (
    select * from repeated
    union all
    select connection, frame, 6, 'linger.ms', topic || ' ' || p."index" from written
),
timed as (
    select
        case $by when 'software' then c.software_name when 'client' then c.client_name else 'all clients' end as name,
        k.number,
        k.config,
        c.api,
        date_diff('microsecond', lag(c.request_time) over earlier, c.request_time) as between_us
    from keyed k
    join profile_calls c on c.connection = k.connection and c.frame = k.frame
    where c.is_read and not c.is_of_broker and c.request_time is not null
    window earlier as (partition by k.connection, k.number, k.key order by c.request_time, c.frame)
)
select
    name,
    number,
    api,
    api || ' of a ' || case when api = 'Produce' then 'partition' else 'member' end as rhythm,
    config,
    count(*) as times,
    percentile_disc(0.5) within group (order by between_us) / 1e6 as p50_s,
    percentile_disc(0.99) within group (order by between_us) / 1e6 as p99_s
from timed
where between_us is not null
group by name, number, api, config
order by name, number
