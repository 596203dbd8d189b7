-- One row for each combination of labels of the dimensions $by: what records and batches cost. With $step there are rows
-- by the `records` or `bytes` in a batch, in powers of two, or by `codec`. Compressed records count as they decompress
-- in `overhead_bytes` and in what follows from it.
with added as (
    select
        labels_of($by, b, null, null) as labels,
        case $step::varchar when 'records' then records_bits end as records_step,
        case $step::varchar when 'bytes' then bytes_bits end as bytes_step,
        case $step::varchar when 'codec' then codec end as codec,
        sum(batches)::bigint as batches,
        sum(records)::bigint as records,
        sum(bytes)::bigint as bytes,
        sum(overhead_bytes)::bigint as overhead_bytes,
        sum(packed_bytes)::bigint as packed_bytes,
        sum(unpacked_bytes)::bigint as unpacked_bytes,
        sum(unread)::bigint as unread,
        sum(gaps)::bigint as gaps
    from batch_sizes b
    where b.codec is not null or $step is null
    group by 1, 2, 3, 4
    having sum(b.batches) > 0 or sum(b.gaps) > 0
),
whole as (
    select
        *,
        batches as bar,
        bytes - packed_bytes + unpacked_bytes as whole_bytes,
        case
            when records_step <= 1 then records_step::varchar
            else (1::bigint << (records_step - 1)) || '-' || ((1::bigint << records_step) - 1)
        end as records_in_batch,
        (1::bigint << (bytes_step - 1)) || '-' || ((1::bigint << bytes_step) - 1) as bytes_in_batch
    from added
)
select
    * exclude (packed_bytes, unpacked_bytes),
    case when codec is null or packed_bytes > 0 then packed_bytes end as packed_bytes,
    case when codec is null or packed_bytes > 0 then unpacked_bytes end as unpacked_bytes,
    mean_of(records, batches) as records_per_batch,
    mean_of(whole_bytes, records) as bytes_per_record,
    mean_of(overhead_bytes, records) as overhead_per_record,
    mean_of(overhead_bytes, batches) as overhead_per_batch,
    share_of(overhead_bytes, whole_bytes) as overhead_share,
    mean_of(unpacked_bytes, packed_bytes) as ratio
from whole
order by records_step, bytes_step, bytes desc, codec, labels
