-- One row for each group of a dimension, or for each interval of a group, which begins `number` times $width_us after
-- 1970. The groups with the most bytes come first. Those after the first $busiest share a row.
-- With $until, only messages before that time count, and each interval has its own order.
with named as (
    select
        unnest(
            case $by
                when 'api' then [coalesce(api, api_key::varchar) || ' ' || api_version]
                when 'client' then [client_id]
                when 'topic' then topics
                when 'broker' then list_filter([broker_address], lambda address: address is not null)
                when 'group' then request_groups
                when 'software' then [software]
                else ['(all)']
            end
        ) as said,
        coalesce(epoch_us(time) // $width_us, 0) as number,
        kind, size, broker, software, in_flight, throttle_us, errors, stages_us,
        case when not coalesce(delayed, false) then latency_us end as latency_us,
        case when delayed then latency_us end as wait_us
    from messages
    where ($width_us is null or time is not null) and ($until is null or time < $until)
),
known as (
    select
        n.* exclude (said),
        case when $by = 'topic' then coalesce(t.topic, n.said) else n.said end as name,
        case when $until is null then 0 else n.number end as span
    from named n
    left join topic_names t on t.topic_id = n.said
),
ranked as (
    select
        span,
        name,
        row_number() over (
            partition by span
            order by coalesce(sum(size), 0) desc, count(*) filter (where kind = 'request') desc, name nulls last
        ) as rank
    from known
    group by span, name
),
grouped as (
    select
        k.* exclude (name),
        least(r.rank, $busiest + 1) as place,
        case when r.rank > $busiest then '(others)' else k.name end as name
    from known k
    join ranked r on r.span = k.span and r.name is not distinct from k.name
),
by_stage as (
    select place, number, stage.key as stage, sum(stage.value)::bigint as took_us
    from (select place, number, unnest(map_entries(stages_us)) as stage from grouped)
    group by place, number, stage.key
),
stage_maps as (
    select place, number, map(list(stage), list(took_us / 1e6)) as stages_seconds
    from by_stage
    group by place, number
),
counted as (
    select
        g.place,
        g.name,
        g.number,
        count(*) filter (where g.kind = 'request') as requests,
        count(*) filter (where g.kind = 'response') as responses,
        count(g.size) > 0 as is_sized,
        case when is_sized then coalesce(sum(g.size) filter (where g.kind = 'request'), 0)::bigint end as request_bytes,
        case when is_sized then coalesce(sum(g.size) filter (where g.kind = 'response'), 0)::bigint end as response_bytes,
        nullif(count(g.latency_us), 0) as latency_count,
        percentile_disc(0.5) within group (order by g.latency_us) / 1e6 as latency_p50_seconds,
        percentile_disc(0.95) within group (order by g.latency_us) / 1e6 as latency_p95_seconds,
        percentile_disc(0.99) within group (order by g.latency_us) / 1e6 as latency_p99_seconds,
        max(g.latency_us) / 1e6 as latency_max_seconds,
        nullif(count(g.wait_us), 0) as wait_count,
        percentile_disc(0.5) within group (order by g.wait_us) / 1e6 as wait_p50_seconds,
        percentile_disc(0.95) within group (order by g.wait_us) / 1e6 as wait_p95_seconds,
        percentile_disc(0.99) within group (order by g.wait_us) / 1e6 as wait_p99_seconds,
        max(g.wait_us) / 1e6 as wait_max_seconds,
        case when is_sized then coalesce(max(g.in_flight), 0) end as most_in_flight,
        count(*) filter (where g.throttle_us > 0) as throttled,
        coalesce(sum(g.throttle_us) filter (where g.throttle_us > 0), 0) / 1e6 as throttle_seconds,
        case when $by = 'broker' then max(g.broker) end as node_id,
        coalesce(list(distinct g.software order by g.software) filter (where g.software is not null), []) as software,
        coalesce(sum(len(g.errors)), 0)::bigint as error_count,
        counts_of(g.errors) as errors
    from grouped g
    group by g.place, g.name, g.number
)
select
    g.*,
    g.request_bytes + g.response_bytes as bytes,
    round(g.requests / ($width_us / 1e6), 3) as requests_per_second,
    round((g.request_bytes + g.response_bytes) / ($width_us / 1e6), 3) as bytes_per_second,
    coalesce(s.stages_seconds, map()) as stages_seconds
from counted g
left join stage_maps s on s.place = g.place and s.number = g.number
order by g.place, g.number
