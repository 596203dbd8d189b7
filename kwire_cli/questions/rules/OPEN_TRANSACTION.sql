-- One row for each producer with an open transaction in logs, the partition that waits longest first; and for each
-- transactional id with a transaction that is open at the end of the input and is in no other finding.
with in_logs as (
    select
        *,
        row_number() over (of_producer order by open_s desc, end_offset - first_offset desc, ordinal) as nth,
        count(*) over (of_producer) as partitions_held,
        list(place) over (of_producer) as places
    from open_in_logs
    where not coalesce(is_hanging, open_s >= $max_timeout_s)
    window of_producer as (partition by producer_id, epoch)
),
ends as (
    select max(answered) as until from transaction_events
)
select
    'partition ' || topic_partition as subject,
    producer_id,
    epoch,
    transactional_id as log_id,
    first_offset,
    end_offset,
    end_offset - first_offset as behind,
    since,
    coordinator,
    nullif(partitions_held - 1, 0) as more_partitions,
    open_s,
    $timeout_s as limit_s,
    end_offset - first_offset as weight,
    places as evidence
from in_logs
where nth = 1
union all by name
select
    case when t.transactional_id is null then t.name else 'transactional id ' || t.name end as subject,
    t.began,
    true as is_in_traffic,
    case when t.began is null then true end as is_unknown,
    t.partitions,
    t.transactional_id,
    coalesce(seconds_between(t.began, e.until), 0) as open_s,
    coalesce(least($timeout_s, 0.8 * t.timeout_s), $timeout_s) as limit_s,
    open_s as weight,
    t.places[1:2] as evidence
from transactions t, ends e
where t.result = 'open'
    and not exists (
        select 1
        from (select transactional_id from open_in_logs union select transactional_id from held_transactions) said
        where said.transactional_id is not distinct from t.transactional_id
    )
