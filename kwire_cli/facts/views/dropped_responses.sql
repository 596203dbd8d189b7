-- One row for each response that a client did not receive as a whole, because it closed the connection while the
-- response arrived. All bytes that were sent are in the capture.
select
    c.client,
    c.software,
    c.broker_address,
    c.api,
    r.size - 4 + r.missing_bytes as size,
    seconds_between(c.request_time, p.closed_time) as waited_s,
    c.is_internal,
    c.place
from frames r
join calls c on c.connection = r.connection and c.response_frame = r.frame
join connection_places p on p.connection = r.connection
where r.kind = 'response' and r.missing_bytes > 0 and p.closed_by = 'client'
    and coalesce(p.broker_lost_bytes, 0) = 0 and coalesce(p.broker_cut_bytes, 0) = 0
