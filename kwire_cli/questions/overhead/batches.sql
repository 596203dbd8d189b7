-- What records and batches cost, in four parts: by combination of labels of the dimensions $by (`owner`), in all
-- (`total`), by the `records` in a batch in powers of two, and by `codec`. Compressed records count as
-- they decompress in `overhead_bytes` and in what follows from it.
with labelled as (
    select *, labels_of($by, batch_sizes, null, null) as labels
    from batch_sizes
),
added as (
    select
        case
            when grouping(labels) = 0 then 'owner'
            when grouping(records_bits) = 0 then 'records'
            when grouping(codec) = 0 then 'codec'
            else 'total'
        end as part,
        labels,
        records_bits,
        codec,
        sum(batches)::bigint as batches,
        sum(records)::bigint as records,
        sum(bytes)::bigint as bytes,
        sum(overhead_bytes)::bigint as overhead_bytes,
        sum(packed_bytes)::bigint as packed_bytes,
        sum(unpacked_bytes)::bigint as unpacked_bytes,
        sum(unread)::bigint as unread,
        sum(gaps)::bigint as gaps
    from labelled l
    group by grouping sets ((labels), (), (records_bits), (codec))
    having sum(l.batches) > 0 or (sum(l.gaps) > 0 and part in ('owner', 'total'))
),
whole as (
    select
        *,
        batches as bar,
        bytes - packed_bytes + unpacked_bytes as whole_bytes,
        case
            when records_bits <= 1 then records_bits::varchar
            else (1::bigint << (records_bits - 1)) || '-' || ((1::bigint << records_bits) - 1)
        end as records_in_batch
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
order by records_bits, bytes desc, codec, labels
