-- One row for each client and error by which a coordinator no longer accepts it as a member of a group, or by which it
-- refuses commits of a client that is not a member: it left, or never was one (`outsider`).
with numbered as (
    select
        *,
        seconds_between(lag(request_time) over member, request_time) as silence_s,
        last_value(session_timeout_ms ignore nulls) over until_now / 1000 as session_timeout_s,
        count(*) filter (where is_answered and error is null) over until_now as accepted
    from member_calls
    where member_id is not null
    window
        member as (partition by group_id, member_id order by place.ordinal),
        until_now as (member rows between unbounded preceding and current row)
),
fenced as (
    select
        group_id, client, error, max(software) as software, count(*) as times, evidence(place) as evidence,
        arg_min(
            {'api': api, 'silence_s': silence_s, 'session_timeout_s': session_timeout_s}, place.ordinal
        ) as first_time
    from numbered
    where error in ('UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_MEMBER_EPOCH', 'STALE_MEMBER_EPOCH')
        and accepted > 0 and not (member_epoch < 0 or api = 'LeaveGroup')
    group by group_id, client, error
),
outsiders as (
    select
        group_id, client, error, max(software) as software, count(*) as times, evidence(place) as evidence,
        {'api': api, 'silence_s': null::double, 'session_timeout_s': null::double} as first_time,
        case when (group_id, client) in (select (group_id, client) from numbered where accepted > 0) then 'left'
            else 'outsider' end as in_case
    from member_calls
    where error in ('UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION') and member_id is null and api = 'OffsetCommit'
    group by group_id, client, error, api
)
select
    group_id,
    client,
    in_case,
    case when in_case = 'outsider' then true end as is_outsider,
    case when in_case = 'left' then true end as has_left,
    error,
    software,
    case when times > 1 then times end as times,
    first_time.api as api,
    first_time.silence_s as silence_s,
    case when first_time.silence_s >= $late_share * first_time.session_timeout_s then first_time.session_timeout_s end
        as session_timeout_s,
    f.times as weight,
    evidence
from (select * from fenced union all by name select * from outsiders) f
