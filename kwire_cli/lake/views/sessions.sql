-- A row for each connection of a client: who spoke with whom, from when to when, and how much.
select
    capture_point,
    connection,
    min(client) as client,
    min(broker_address) as broker_address,
    min(broker) as broker,
    max(client_id) as client_id,
    max(software) as software,
    min(requested) as first,
    max(coalesce(answered, requested)) as last,
    count(*) as requests,
    count(response_frame) as responses,
    cast(coalesce(sum(cardinality(errors)), 0) as bigint) as errors,
    cast(coalesce(sum(request_bytes), 0) as bigint) as request_bytes,
    cast(coalesce(sum(response_bytes), 0) as bigint) as response_bytes
from exchanges
group by capture_point, connection
