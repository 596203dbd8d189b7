-- The calls for which a broker took longest by itself. Time behind other calls of the connection is not counted, and
-- calls that a broker holds back on purpose are left out.
select
    served_us / 1e6 as served_seconds,
    latency_us / 1e6 as latency_seconds,
    case when source = 'capture' then response_frame end as frame,
    response_place.line as line,
    api,
    client,
    broker_address as broker,
    broker as node_id,
    response_time as time,
    capture_point as capture
from calls
where served_us is not null and not delayed
order by served_us desc, response_place.ordinal
limit 5
