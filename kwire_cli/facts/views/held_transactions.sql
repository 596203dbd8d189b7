-- One row for each partition whose readers of committed records were held back for some seconds, with the transaction
-- that is likely to hold them: one that wrote to the partition and has not ended. A transaction of which all that was
-- said to the coordinator is in the input, without this partition, hangs.
with held as (
    select * from held_readers where span_s >= 5 and responses >= 3
),
holders as (
    select
        h.topic_partition, h.last_stable_offset, t.*,
        t.is_from_beginning and not list_contains(t.added, h.topic_partition) as is_strange
    from held h
    join transactions t on t.result in ('open', 'unknown') and list_contains(t.partitions, h.topic_partition)
        and not t.is_in_logs
),
chosen as (
    select *, row_number() over (partition by topic_partition, last_stable_offset order by is_strange desc, ordinal) as nth
    from holders
    qualify is_strange or not bool_or(is_strange) over (partition by topic_partition, last_stable_offset)
)
select
    h.topic_partition,
    h.last_stable_offset,
    h.high_watermark,
    h.span_s,
    h.responses,
    h.clients,
    first.name as holder,
    first.transactional_id,
    first.producer_id,
    first.epoch,
    coalesce(first.is_strange, false) as is_strange,
    coalesce(first.is_strange, false) or h.span_s >= 900 as is_hanging,
    flatten([coalesce(others.places, []), h.evidence]) as evidence
from held h
left join chosen first
    on first.topic_partition = h.topic_partition and first.last_stable_offset = h.last_stable_offset and first.nth = 1
left join (
    select topic_partition, last_stable_offset, flatten(list(places)) as places from chosen group by all
) others on others.topic_partition = h.topic_partition and others.last_stable_offset = h.last_stable_offset
where not exists (
    select 1
    from open_in_logs o
    where o.topic_partition = h.topic_partition and o.first_offset = h.last_stable_offset
        and coalesce(o.is_hanging, o.open_s >= 900)
)
