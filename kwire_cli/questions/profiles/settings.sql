-- One row for each group of clients and setting that shows in their requests, with its values, the most frequent first,
-- and how many requests or batches have each. Beyond $most_values values are not told apart. `config` is the name of the
-- Java client's configuration, and is_of_batches says that only captures show the setting. A request that ends a fetch
-- session says nothing of configuration.
with produce as (
    select connection, frame, unnest([
        {'setting': 'acks', 'config': 'acks', 'value': body.acks::varchar},
        {'setting': 'timeoutMs', 'config': 'request.timeout.ms', 'value': body.timeoutMs::varchar},
        {
            'setting': 'transactionalId', 'config': 'transactional.id',
            'value': case when coalesce(body.transactionalId, '') <> '' then 'yes' when api_version >= 3 then 'no' end
        }
    ]) as s
    from bodies_produce_request
),
asking_fetches as (
    select * from bodies_fetch_request where not (coalesce(body.sessionId, 0) <> 0 and body.sessionEpoch = -1)
),
fetch_settings as (
    select connection, frame, unnest([
        {'setting': 'maxWaitMs', 'config': 'fetch.max.wait.ms', 'value': body.maxWaitMs::varchar},
        {'setting': 'minBytes', 'config': 'fetch.min.bytes', 'value': body.minBytes::varchar},
        {'setting': 'maxBytes', 'config': 'fetch.max.bytes', 'value': body.maxBytes::varchar},
        {'setting': 'isolationLevel', 'config': 'isolation.level', 'value': body.isolationLevel::varchar},
        {
            'setting': 'rackId', 'config': 'client.rack',
            'value': case when coalesce(body.rackId, '') <> '' then 'yes' when api_version >= 11 then 'no' end
        }
    ]) as s
    from asking_fetches
),
fetched_topics as (select connection, frame, unnest(body.topics) as t from asking_fetches),
fetched_partitions as (select connection, frame, unnest(t.partitions) as p from fetched_topics),
limits as (
    select distinct
        connection, frame,
        {
            'setting': 'topics[].partitions[].partitionMaxBytes', 'config': 'max.partition.fetch.bytes',
            'value': p.partitionMaxBytes::varchar
        } as s
    from fetched_partitions
),
share_fetch as (
    select connection, frame, unnest([
        {'setting': 'maxWaitMs', 'config': 'fetch.max.wait.ms', 'value': body.maxWaitMs::varchar},
        {'setting': 'minBytes', 'config': 'fetch.min.bytes', 'value': body.minBytes::varchar},
        {'setting': 'maxBytes', 'config': 'fetch.max.bytes', 'value': body.maxBytes::varchar},
        {'setting': 'maxRecords', 'config': 'max.poll.records', 'value': body.maxRecords::varchar}
    ]) as s
    from bodies_share_fetch_request
),
join_group as (
    select connection, frame, unnest([
        {'setting': 'sessionTimeoutMs', 'config': 'session.timeout.ms', 'value': body.sessionTimeoutMs::varchar},
        {'setting': 'rebalanceTimeoutMs', 'config': 'max.poll.interval.ms', 'value': body.rebalanceTimeoutMs::varchar},
        {
            'setting': 'groupInstanceId', 'config': 'group.instance.id',
            'value': case when coalesce(body.groupInstanceId, '') <> '' then 'yes' when api_version >= 5 then 'no' end
        },
        {'setting': 'protocolType', 'config': '', 'value': body.protocolType},
        {
            'setting': 'protocols[].name', 'config': 'partition.assignment.strategy',
            'value': array_to_string(list_transform(body.protocols, lambda p: p.name), ', ')
        }
    ]) as s
    from bodies_join_group_request
),
heartbeat as (
    select connection, frame, unnest([
        {
            'setting': 'rebalanceTimeoutMs', 'config': 'max.poll.interval.ms',
            'value': nullif(body.rebalanceTimeoutMs, -1)::varchar
        },
        {
            'setting': 'instanceId', 'config': 'group.instance.id',
            'value': case when coalesce(body.instanceId, '') <> '' then 'yes' else 'no' end
        },
        {'setting': 'serverAssignor', 'config': 'group.remote.assignor', 'value': body.serverAssignor},
        {
            'setting': 'rackId', 'config': 'client.rack',
            'value': case when coalesce(body.rackId, '') <> '' then 'yes' else 'no' end
        }
    ]) as s
    from bodies_consumer_group_heartbeat_request
),
init_producer_id as (
    select connection, frame, unnest([
        {
            'setting': 'transactionTimeoutMs', 'config': 'transaction.timeout.ms',
            'value': body.transactionTimeoutMs::varchar
        },
        {
            'setting': 'transactionalId', 'config': 'transactional.id',
            'value': case when coalesce(body.transactionalId, '') <> '' then 'yes' else 'no' end
        }
    ]) as s
    from bodies_init_producer_id_request
),
others as (
    select
        connection, frame,
        {
            'setting': 'allowAutoTopicCreation', 'config': 'allow.auto.create.topics',
            'value': body.allowAutoTopicCreation::varchar
        } as s
    from bodies_metadata_request
    union all
    select
        connection, frame,
        {'setting': 'isolationLevel', 'config': 'isolation.level', 'value': body.isolationLevel::varchar}
    from bodies_list_offsets_request
    union all
    select connection, frame, {'setting': 'retentionTimeMs', 'config': '', 'value': body.retentionTimeMs::varchar}
    from bodies_offset_commit_request
    union all
    select
        connection, frame,
        {'setting': 'requireStable', 'config': 'isolation.level', 'value': body.requireStable::varchar}
    from bodies_offset_fetch_request
    union all
    select
        connection, frame,
        {'setting': 'timeoutMs', 'config': 'default.api.timeout.ms', 'value': body.timeoutMs::varchar}
    from bodies_create_topics_request
),
of_batches as (
    select connection, frame, unnest([
        {
            'setting': 'compression', 'config': 'compression.type',
            'value': coalesce(['none', 'gzip', 'snappy', 'lz4', 'zstd'][codec + 1], 'unknown-' || codec)
        },
        {
            'setting': 'idempotence', 'config': 'enable.idempotence',
            'value': case when magic = 2 then case when producer_id >= 0 then 'yes' else 'no' end end
        }
    ]) as s
    from batches
),
shown as (
    select connection, frame, s, false as is_of_batches from produce
    union all
    select connection, frame, s, false from fetch_settings
    union all
    select connection, frame, s, false from limits
    union all
    select connection, frame, s, false from share_fetch
    union all
    select connection, frame, s, false from join_group
    union all
    select connection, frame, s, false from heartbeat
    union all
    select connection, frame, s, false from init_producer_id
    union all
    select connection, frame, s, false from others
    union all
    select connection, frame, s, true from of_batches
),
counted as (
    select
        case $by when 'software' then c.software_name when 'client' then c.client_name else 'all clients' end as name,
        c.api,
        c.api || '.' || s.s.setting as setting,
        s.s.config as config,
        s.is_of_batches,
        left(s.s.value, 80) as value,
        count(*) as requests
    from shown s
    join profile_calls c on c.connection = s.connection and c.frame = s.frame
    where c.is_read and not c.is_of_broker and s.s.value is not null
    group by all
)
select
    name,
    api,
    setting,
    max(config) as config,
    bool_or(is_of_batches) as is_of_batches,
    count(*) > $most_values as is_many,
    case when count(*) > $most_values then ['(many)'] else list(value order by requests desc, value) end as texts,
    case when count(*) > $most_values then map()
        else map(list(value order by requests desc, value), list(requests order by requests desc, value)) end as counts
from counted
group by name, api, setting
order by name, setting
