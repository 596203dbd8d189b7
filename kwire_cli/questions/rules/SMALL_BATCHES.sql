-- One row for each client, or log, and topic whose batches have one record mostly, and a linger.ms that would help.
select
    'topic ' || topic || coalesce(', client ' || client, '') as subject,
    records,
    batches,
    size / batches as mean_size,
    span_s,
    linger_ms,
    batches - merged_batches as fewer_batches,
    merged_batches * $head as saved_bytes,
    saved_bytes / size as share,
    saved_bytes as weight,
    places as evidence
from batch_uses
where linger_ms is not null
