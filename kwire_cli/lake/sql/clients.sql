-- Clients by id, software and address: requests, errors, apis, and when each was seen
select
    client_id,
    software,
    address,
    count(*) filter (where kind = 'request') as requests,
    cast(sum(cardinality(errors)) as bigint) as errors,
    min(time) filter (where kind = 'request') as first,
    max(time) filter (where kind = 'request') as last,
    concat_ws(', ', array_sort(array_agg(distinct api))) as apis,
    capture
from client_frames
group by all
order by client_id nulls first, software nulls first, address, capture nulls first
