-- Groups with their members, the offsets that they committed, and how far behind they are. The lag is that of the last
-- committed offset and the last high watermark of each partition. A group rewinds if it commits a smaller offset than
-- before, and stalls if it commits the same offset again while there are records behind it. Without commits its state is
-- not known.
with commits as (
    select
        group_id, topic_partition, committed_offset, request_time, request_place.ordinal as ordinal,
        lag(committed_offset) over (partition by group_id, topic_partition order by request_time, request_place.ordinal) as offset_before
    from committed
    where error_codes = []
),
watermarks as (
    select topic_partition, arg_max(high_watermark, response_time) as high_watermark
    from fetched
    where error_code = 0 and high_watermark >= 0
    group by topic_partition
),
partitions as (
    select
        c.group_id, c.topic_partition, count(*) as commits, min(c.request_time) as first_time, max(c.request_time) as last_time,
        arg_max(c.committed_offset, c.ordinal) as last_offset, min(c.committed_offset) as least_offset,
        bool_or(c.committed_offset < c.offset_before) as is_rewound, max(w.high_watermark) as high_watermark
    from commits c
    left join watermarks w using (topic_partition)
    group by c.group_id, c.topic_partition
),
by_group as (
    select
        group_id, sum(commits)::bigint as commits, seconds_between(min(first_time), max(last_time)) as span_s,
        sum(greatest(high_watermark - last_offset, 0))::bigint as lag, bool_or(is_rewound) as is_rewound,
        bool_or(commits > 1 and least_offset = last_offset and high_watermark > last_offset) as is_stalled
    from partitions
    group by group_id
),
members as (
    select group_id, count(distinct client) as members
    from calls
    where group_id is not null and group_id <> '' and api in (
        'JoinGroup', 'SyncGroup', 'Heartbeat', 'ConsumerGroupHeartbeat', 'ShareGroupHeartbeat', 'StreamsGroupHeartbeat',
        'OffsetCommit'
    )
    group by group_id
)
select
    m.group_id as "group",
    m.members,
    g.lag,
    coalesce(g.commits, 0) as commits,
    case when g.span_s > 0 then round(g.commits / g.span_s, 3) end as commits_per_second,
    case when g.is_rewound then 'REWIND' when g.is_stalled then 'STALL' when g.commits > 0 then 'OK' end as state
from members m
left join by_group g using (group_id)
order by coalesce(state, 'OK') <> 'OK' desc, coalesce(g.lag, 0) desc, m.group_id
