-- One row for each request with bytes that Kafka's own clients would not write. Requests that the capture cuts short,
-- and requests of an unknown layout, are left out.
with refused as (select list(code) as codes from anomaly_codes where is_refused),
odd as (
    select connection, frame, list_filter(anomalies, lambda code: code <> 'FITS_OTHERWISE') as codes
    from frames
    where kind = 'request' and len(anomalies) > 0 and not guess and coalesce(missing_bytes, 0) = 0
)
select
    coalesce(c.software, c.client) as writer, c.software, c.client, c.api, c.api_version, c.connection, c.frame,
    o.codes,
    not c.is_answered and list_has_any(o.codes, r.codes) as is_refused,
    c.request_place as place
from odd o
join calls c using (connection, frame)
cross join refused r
where len(o.codes) > 0
    and not list_has_any(o.codes, ['TRUNCATED', 'LOST', 'NOT_RECOGNISED', 'FRAME_SIZE_MISMATCH', 'UNKNOWN_API'])
