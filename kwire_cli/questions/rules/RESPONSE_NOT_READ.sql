-- One row for each client that closes connections while responses arrive, and each api. A client that ends may leave a
-- response unread too, so that one that has read a response of such a size is left out.
with dropped as (
    select
        client, max(software) as software, broker_address, api, count(*) as times, min(size) as smallest,
        max(size) as size, max(waited_s) as waited_s, evidence(place) as evidence
    from dropped_responses
    where not is_internal
    group by client, broker_address, api
),
accepted as (
    select client, api, max(response_size) as size from calls where is_answered and is_sound group by client, api
)
select
    d.client,
    d.software,
    d.broker_address,
    d.api,
    d.times,
    d.size,
    d.waited_s,
    if(d.waited_s < $quick_s, 'size', 'time') as in_case,
    d.times as weight,
    d.evidence
from dropped d
left join accepted a using (client, api)
where d.times >= 2 and coalesce(a.size < d.smallest, true)
