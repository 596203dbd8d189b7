-- One row for each client and broker that did not answer for longer than the request allows, or until the client gave up.
with ends as (
    select capture_point, max(coalesce(response_time, request_time)) as last_time from calls group by capture_point
),
answering as (select distinct broker_address from calls where is_answered),
answered_later as (
    select connection, max(frame) as last_answered, max(response_time) as last_answer_time
    from calls
    where is_answered
    group by connection
),
tried_again as (
    select client, api, max(request_time) as last_request from calls group by client, api
),
waiting as (
    select
        c.client, c.broker_address, c.software, c.api, c.api_version, c.connection, c.request_place as place,
        coalesce(c.allowed_ms, 0) / 1000 as allowed_s,
        case  -- a broker answers the requests of a connection one by one
            when c.response_time is not null then seconds_between(c.request_time, c.response_time)
            else seconds_between(
                greatest(c.request_time, l.last_answer_time),
                least(coalesce(t.closed_time, e.last_time), (
                    select min(began) from pauses p
                    where p.capture_point is not distinct from c.capture_point and p.began >= c.request_time
                ))
            )
        end as waited_s,
        c.response_time is null and t.closed_by = 'client' and a.last_request > t.closed_time as is_given_up
    from calls c
    join ends e on e.capture_point is not distinct from c.capture_point
    left join connection_places t on t.connection = c.connection
    left join answered_later l on l.connection = c.connection
    left join tried_again a on a.client = c.client and a.api = c.api
    where c.expects_answer and not c.delayed
        and (c.response_time is not null or l.last_answered is null or c.frame > l.last_answered)
        and (c.response_time is not null or coalesce(t.closed_by, 'client') = 'client')
        and coalesce(t.broker_heard, true) and coalesce(t.broker_lost_bytes, 0) = 0
),
late as (
    select *
    from waiting
    where waited_s >= allowed_s + case when is_given_up then $least_given_up_s else $least_s end
)
select
    w.client,
    max(w.software) as software,
    w.broker_address,
    list_sort(list(distinct w.api || ' ' || w.api_version)) as apis,
    count(*) as requests,
    max(w.waited_s) as waited_s,
    case when bool_or(w.is_given_up) then true end as is_given_up,
    case when w.broker_address not in (select broker_address from answering) then true end as is_silent,
    count(*) as weight,
    evidence(w.place) as evidence
from late w
group by w.client, w.broker_address
