-- One row for each group of clients and setting that shows in their requests, with its values, the most frequent first,
-- and how many requests or batches have each. Beyond $most_values values are not told apart. `config` is the name of the
-- Java client's configuration, and is_of_batches says that only captures show the setting. A request that ends a fetch
-- session says nothing of configuration.
with fetches_with_settings as (
    select * from bodies_fetch_request where not (coalesce(body.sessionId, 0) <> 0 and body.sessionEpoch = -1)
),
fetched_topics as (select connection, frame, unnest(body.topics) as t from fetches_with_settings),
fetched_partitions as (select connection, frame, unnest(t.partitions) as p from fetched_topics),
maps as (
    select connection, frame, map {
        'acks': body.acks::varchar,
        'timeoutMs': body.timeoutMs::varchar,
        'transactionalId': case when body.transactionalId <> '' then 'yes' when api_version >= 3 then 'no' end
    } as settings
    from bodies_produce_request
    union all
    select connection, frame, map {
        'compression': coalesce(['none', 'gzip', 'snappy', 'lz4', 'zstd'][codec + 1], 'unknown-' || codec),
        'idempotence': case when magic = 2 then if(producer_id >= 0, 'yes', 'no') end
    }
    from batches
    union all
    select connection, frame, map {
        'maxWaitMs': body.maxWaitMs::varchar,
        'minBytes': body.minBytes::varchar,
        'maxBytes': body.maxBytes::varchar,
        'isolationLevel': body.isolationLevel::varchar,
        'rackId': case when body.rackId <> '' then 'yes' when api_version >= 11 then 'no' end
    }
    from fetches_with_settings
    union all
    select distinct connection, frame, map {'topics[].partitions[].partitionMaxBytes': p.partitionMaxBytes::varchar}
    from fetched_partitions
    union all
    select connection, frame, map {
        'maxWaitMs': body.maxWaitMs::varchar,
        'minBytes': body.minBytes::varchar,
        'maxBytes': body.maxBytes::varchar,
        'maxRecords': body.maxRecords::varchar
    }
    from bodies_share_fetch_request
    union all
    select connection, frame, map {
        'sessionTimeoutMs': body.sessionTimeoutMs::varchar,
        'rebalanceTimeoutMs': body.rebalanceTimeoutMs::varchar,
        'groupInstanceId': case when body.groupInstanceId <> '' then 'yes' when api_version >= 5 then 'no' end,
        'protocolType': body.protocolType,
        'protocols[].name': array_to_string(list_transform(body.protocols, lambda p: p.name), ', ')
    }
    from bodies_join_group_request
    union all
    select connection, frame, map {
        'rebalanceTimeoutMs': nullif(body.rebalanceTimeoutMs, -1)::varchar,
        'instanceId': if(body.instanceId <> '', 'yes', 'no'),
        'serverAssignor': body.serverAssignor,
        'rackId': if(body.rackId <> '', 'yes', 'no')
    }
    from bodies_consumer_group_heartbeat_request
    union all
    select connection, frame, map {
        'transactionTimeoutMs': body.transactionTimeoutMs::varchar,
        'transactionalId': if(body.transactionalId <> '', 'yes', 'no')
    }
    from bodies_init_producer_id_request
    union all
    select connection, frame, map {'allowAutoTopicCreation': body.allowAutoTopicCreation::varchar}
    from bodies_metadata_request
    union all
    select connection, frame, map {'isolationLevel': body.isolationLevel::varchar} from bodies_list_offsets_request
    union all
    select connection, frame, map {'retentionTimeMs': body.retentionTimeMs::varchar} from bodies_offset_commit_request
    union all
    select connection, frame, map {'requireStable': body.requireStable::varchar} from bodies_offset_fetch_request
    union all
    select connection, frame, map {'timeoutMs': body.timeoutMs::varchar} from bodies_create_topics_request
),
shown as (select connection, frame, unnest(map_entries(settings)) as s from maps),
counted as (
    select
        c.names[$by] as name,
        c.api,
        s.s.key as setting,
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
    api || '.' || setting as setting,
    coalesce(
        if(api = 'CreateTopics', 'default.api.timeout.ms', null),
        map {
            'acks': 'acks', 'timeoutMs': 'request.timeout.ms', 'transactionalId': 'transactional.id',
            'compression': 'compression.type', 'idempotence': 'enable.idempotence', 'maxWaitMs': 'fetch.max.wait.ms',
            'minBytes': 'fetch.min.bytes', 'maxBytes': 'fetch.max.bytes', 'isolationLevel': 'isolation.level',
            'rackId': 'client.rack', 'maxRecords': 'max.poll.records', 'sessionTimeoutMs': 'session.timeout.ms',
            'topics[].partitions[].partitionMaxBytes': 'max.partition.fetch.bytes',
            'rebalanceTimeoutMs': 'max.poll.interval.ms', 'groupInstanceId': 'group.instance.id',
            'instanceId': 'group.instance.id', 'protocols[].name': 'partition.assignment.strategy',
            'serverAssignor': 'group.remote.assignor', 'transactionTimeoutMs': 'transaction.timeout.ms',
            'allowAutoTopicCreation': 'allow.auto.create.topics', 'requireStable': 'isolation.level'
        }[setting],
        ''
    ) as config,
    setting in ('compression', 'idempotence') as is_of_batches,
    count(*) > $most_values as is_many,
    case when is_many then ['(many)'] else list(value order by requests desc, value) end as texts,
    case when is_many then map()
        else map(list(value order by requests desc, value), list(requests order by requests desc, value)) end as counts
from counted
group by name, api, setting
order by name, 3
