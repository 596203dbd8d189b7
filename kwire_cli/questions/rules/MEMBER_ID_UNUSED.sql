-- One row for each client that asked for a member id again and did not use the one that it got.
with given as (
    select
        group_id, client, client_host, connection, member_id, place.ordinal as ordinal, place,
        max(software) over (partition by connection) as software
    from member_calls
    where api = 'JoinGroup' and error = 'MEMBER_ID_REQUIRED' and asked_member_id is null and member_id is not null
),
joins as (
    select
        group_id, connection, request_time, place.ordinal as ordinal, asked_member_id, latency_us,
        max(session_timeout_ms) over (partition by group_id) / 1000 as session_timeout_s
    from member_calls
    where api = 'JoinGroup'
),
used as (select distinct group_id, asked_member_id from member_calls where asked_member_id is not null),
unused as (
    select g.*
    from given g
    left join used u on u.group_id = g.group_id and u.asked_member_id = g.member_id
    where u.group_id is null
),
waits as (
    select
        u.group_id, u.connection, u.member_id, max(j.latency_us) / 1e6 as longest_s,
        max(j.session_timeout_s) as session_timeout_s
    from unused u
    join joins j on j.group_id = u.group_id and j.connection = u.connection and j.ordinal > u.ordinal
    group by u.group_id, u.connection, u.member_id
)
select
    u.group_id,
    u.client,
    max(u.software) as software,
    list_sort(list(distinct u.member_id)) as member_ids,
    count(*) as ids,
    case when max(w.longest_s) >= $least_wait_s then max(w.longest_s) end as waited_s,
    case when waited_s is not null then max(w.session_timeout_s) end as session_timeout_s,
    count(*) as weight,
    evidence(u.place) as evidence
from unused u
join waits w using (group_id, connection, member_id)
group by u.group_id, u.client, u.client_host
