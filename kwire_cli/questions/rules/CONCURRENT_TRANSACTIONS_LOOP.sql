-- One row for each transactional id whose requests were refused many times in a row because its previous transaction
-- had not ended.
with events as (
    select
        *,
        errors['CONCURRENT_TRANSACTIONS'] is not null as is_refused,
        sum((is_ok and not is_refused and event <> 'verifyPartitions')::integer) over (
            partition by transactional_id order by ordinal
        ) as run
    from transaction_events
    where transactional_id is not null and event not in ('state', 'records', 'marker')
),
runs as (
    select
        transactional_id,
        sum(count)::bigint as requests,
        min(time) as first,
        coalesce(seconds_between(arg_min(time, ordinal), arg_max(answered, ordinal)), 0) as span_s,
        evidence(place) as places
    from events
    where is_refused
    group by transactional_id, run
    having requests >= $least_requests and span_s >= $least_s
),
longest as (
    select
        *,
        sum(requests) over (partition by transactional_id)::bigint as all_requests
    from runs
    qualify row_number() over (partition by transactional_id order by span_s desc, first) = 1
),
before as (
    select l.transactional_id, arg_max(t, t.ordinal) as previous
    from longest l
    join transactions t on t.transactional_id = l.transactional_id and t.decided <= l.first and not t.is_in_logs
    group by l.transactional_id
)
select
    l.transactional_id,
    l.all_requests as requests,
    case when l.requests < l.all_requests then l.requests end as in_a_row,
    case when l.requests = l.all_requests then true end as is_all,
    l.span_s,
    list_sort(list_filter(b.previous.partitions, lambda name: not list_contains(b.previous.marked, name))) as waits_for,
    l.all_requests as weight,
    l.places as evidence
from longest l
left join before b using (transactional_id)
