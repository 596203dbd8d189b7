-- Versions of each api that clients use, beside the highest that any client uses there: who stays behind
with asked as (
    select *, max(api_version) over (partition by capture_point, api_key) as highest_of_all
    from client_frames
    where kind = 'request'
)
select
    client_id,
    software,
    address,
    api,
    min(api_version) as lowest,
    max(api_version) as highest,
    highest_of_all,
    count(*) as requests,
    asks_versions,
    capture
from asked
group by all
order by client_id nulls first, software nulls first, address, api, capture nulls first
