-- A row is a pair of linger.ms and batch.size tried on the records of a producer, or of all; without a pair, what was
-- sent. The pair that would have served is the smallest that reaches 90 % of the largest saving.
with added as (
    select
        grouping(client) = 1 as is_total,
        client,
        linger_ms,
        batch_size,
        sum(batches)::bigint as batches,
        sum(bytes)::bigint as bytes,
        sum(wire) as wire,
        sum(waited)::bigint as waited,
        sum(records)::bigint as records,
        sum(partitions)::bigint as partitions,
        sum(payload)::bigint as payload,
        sum(own_time)::bigint as records_with_own_time,
        sum(older)::bigint as records_of_other_formats,
        bool_or(packed) as packed
    from tried
    group by grouping sets ((client, linger_ms, batch_size), (linger_ms, batch_size))
),
saved as (
    select
        *,
        case when linger_ms is not null then max(bytes) filter (linger_ms is null) over producer - bytes end as saved_bytes
    from added
    window producer as (partition by is_total, client)
),
judged as (
    select *, coalesce(saved_bytes > 0 and saved_bytes >= 0.9 * max(saved_bytes) over producer, false) as is_good
    from saved
    window producer as (partition by is_total, client)
)
select
    *,
    is_good and row_number() over (partition by is_total, client, is_good order by linger_ms, batch_size) = 1
        as would_have_served,
    bytes - payload as overhead_bytes,
    mean_of(records, batches) as records_per_batch,
    mean_of(bytes - payload, records) as overhead_per_record,
    case when linger_ms is not null then round(waited / records / 1000, 6) end as mean_wait_seconds,
    round(wire)::bigint as wire_bytes,
    linger_ms is not null and packed as wire_is_estimated,
    batches as bar
from judged
qualify
    row(batches, bytes, wire, waited) is distinct from
    lag(row(batches, bytes, wire, waited)) over (partition by is_total, client, linger_ms order by batch_size)
order by is_total desc, max(bytes) filter (linger_ms is null) over (partition by is_total, client) desc,
    client, linger_ms nulls first, batch_size
