-- One row for each software and api whose requests have bytes that Kafka's own clients would not write, and whether
-- Kafka's reader refuses some of these requests. Requests that the capture cuts short, and requests of an unknown layout,
-- are left out.
with odd as (
    select connection, frame, list_filter(anomalies, lambda code: code <> 'FITS_OTHERWISE') as codes
    from frames
    where kind = 'request' and len(anomalies) > 0 and not guess and coalesce(missing_bytes, 0) = 0
),
requests as (
    select coalesce(c.software, c.client) as writer, c.*, unnest(o.codes) as code
    from odd o
    join calls c using (connection, frame)
    where not list_has_any(o.codes, ['TRUNCATED', 'LOST', 'NOT_RECOGNISED', 'FRAME_SIZE_MISMATCH', 'UNKNOWN_API'])
)
select
    r.writer,
    max(r.client) as client,
    max(r.software) as software,
    r.api,
    array_to_string(list_sort(list(distinct r.api_version)), ', ') as versions,
    array_to_string(list_sort(list(distinct r.code || coalesce(': ' || m.meaning, ''))), '; ') as meanings,
    count(distinct (r.connection, r.frame)) as requests,
    case when bool_or(m.is_refused and not r.is_answered) then 'refused' end as in_case,
    requests as weight,
    list_sort(list(distinct r.request_place))[:10] as evidence
from requests r
left join anomaly_codes m using (code)
group by r.writer, r.api
