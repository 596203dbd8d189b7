-- One row for each client and version of an api that the client uses, and whether the brokers of $release refuse the
-- version. A low version alone says little: the broker may have offered no more. A client uses the highest version that
-- both sides know, so a client that stays below what a broker offers knows no higher one. $today is the release of the
-- brokers if no ApiVersions response of theirs was seen.
with known as (
    select
        m.client,
        bool_or(m.api_key = 18) as asks,
        bool_or(coalesce(t.opened, false)) and not bool_or(m.api_key = 18) as never_asks
    from client_messages m
    left join connections t using (connection)
    group by m.client
),
by_broker as (select client, api_key, api_version, unnest(brokers) as broker_address from client_uses),
accepted as (select * from accepted_versions where release = $release),
compared as (
    select
        b.*,
        k.asks,
        k.never_asks,
        a.first_version,
        a.last_version,
        b.api_version between a.first_version and a.last_version as is_accepted,
        b.api_version <= a.last_deprecated as is_deprecated,
        coalesce(o.last_versions, case when t.last_version is not null then [t.last_version] end, []) as offered,
        case when o.last_versions is null then t.release || ' offers' else 'the broker offered' end as said,
        max(b.api_version) filter (where b.api_version between a.first_version and a.last_version)
            over (partition by b.client, b.api_key) as highest_accepted
    from by_broker b
    join known k on k.client is not distinct from b.client
    left join accepted a on a.api_key = b.api_key
    left join accepted_versions t on t.release = $today and t.api_key = b.api_key
    left join offered_versions o on o.broker_address = b.broker_address and o.api_key = b.api_key
),
ends as (  -- the first release that refuses a version which is deprecated
    select d.api_key, d.api_version, arg_min(r.release, r.number) as release
    from (select distinct api_key, api_version from compared where is_accepted and is_deprecated) d
    join (select distinct number, release from accepted_versions) r
        on r.number > (select max(number) from accepted)
    left join accepted_versions v on v.release = r.release and v.api_key = d.api_key
    where v.release is null or d.api_version not between v.first_version and v.last_version
    group by d.api_key, d.api_version
),
judged as (
    select
        c.client, c.api_key, c.api_version, c.broker_address,
        case
            when c.first_version is null then {'rank': 0, 'reason': $release || ' has no such api'}
            when c.is_accepted and c.is_deprecated then {
                'rank': 3,
                'reason': coalesce(
                    e.release || ' refuses it', $release || ' calls it deprecated, and no release so far refuses it'
                )
            }
            when c.is_accepted then {'rank': 4, 'reason': null}
            -- a broker answers any version of ApiVersions, and says which it knows (KIP-511)
            when c.api_key = 18 and c.api_version > c.last_version then {'rank': 4, 'reason': null}
            when c.never_asks then {'rank': 0, 'reason': 'it never asks which versions a broker speaks'}
            when c.api_version > c.last_version and c.asks
                then {'rank': 2, 'reason': 'it asks which versions a broker speaks, and may know a lower one'}
            when c.api_version > c.last_version
                then {'rank': 2, 'reason': 'whether it knows a lower one was not seen'}
            when list_contains(c.offered, c.api_version) and c.asks
                then {'rank': 1, 'reason': c.said || ' no more than ' || c.api_version}
            when c.highest_accepted is not null then {'rank': 2, 'reason': 'it speaks ' || c.highest_accepted || ' too'}
            when len(c.offered) = 0 then {'rank': 2, 'reason': 'what the broker offered was not seen'}
            when list_contains(c.offered, c.api_version) then {
                'rank': 2,
                'reason': c.said || ' no more than ' || c.api_version
                    || ', and whether the client asks for that was not seen'
            }
            else {'rank': 0, 'reason': c.said || ' ' || list_max(c.offered) || ', so the client knows no higher'}
        end as verdict,
        case when c.is_accepted or c.first_version is null then ''
            when c.first_version = c.last_version then $release || ' accepts ' || c.first_version || '; '
            else $release || ' accepts ' || c.first_version || '-' || c.last_version || '; ' end as accepts
    from compared c
    left join ends e on e.api_key = c.api_key and e.api_version = c.api_version
),
worst as (
    select client, api_key, api_version, verdict.rank as rank, accepts || verdict.reason as reason
    from judged
    qualify row_number() over (partition by client, api_key, api_version order by verdict.rank, broker_address) = 1
)
select
    u.client.client_id,
    u.client.software,
    u.client.address,
    u.client.capture_point as capture,
    u.principals,
    u.api_key,
    u.api,
    u.api_version,
    u.requests,
    u.first_time as "first",
    u.last_time as "last",
    u.errors,
    u.brokers,
    u.formats as message_formats,
    w.rank,
    min(w.rank) over (partition by u.client) as worst_rank,
    w.reason
from client_uses u
join worst w on w.client is not distinct from u.client and w.api_key = u.api_key and w.api_version = u.api_version
order by
    case when $release is not null then w.rank end,
    case when $release is not null then min(w.rank) over (partition by u.client) end,
    u.client.client_id nulls last, u.client.software nulls last, u.client.address nulls last,
    u.client.capture_point nulls last, u.api_key, u.api_version
