-- Apis with their requests, their share of all requests, and the bytes of requests and responses.
select
    api,
    count(*) as requests,
    round(count(*) / sum(count(*)) over (), 6) as share,
    nullif(coalesce(sum(request_size), 0) + coalesce(sum(response_size), 0), 0)::bigint as bytes,
    count(*) filter (where not delayed and latency_us is not null) as timed
from calls
group by api
order by requests desc, api
