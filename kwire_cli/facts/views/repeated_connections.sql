-- One row for each connection that only repeats the requests of another one, at a second capture point or behind a proxy.
with requests as (
    select connection, frame, digest, size, src, dst, time
    from frames
    where kind = 'request' and not (guess and api is null)
),
answer_times as (
    select connection, request_frame as frame, time as response_time
    from frames
    where kind = 'response' and request_frame is not null
),
timed as (
    select q.connection, q.frame, q.digest, q.size, q.src, q.dst, q.time, a.response_time
    from requests q
    left join answer_times a using (connection, frame)
),
neighbours as (  -- the two requests with the same bytes before each one, which may be the same request further out
    select *, lag(connection) over before as outer_connection, lag(src) over before as outer_src,
        lag(dst) over before as outer_dst, lag(time) over before as outer_time,
        lag(response_time) over before as outer_response_time
    from timed
    where digest is not null
    window before as (partition by digest, size order by time, connection)
    union all
    select *, lag(connection, 2) over before, lag(src, 2) over before, lag(dst, 2) over before, lag(time, 2) over before,
        lag(response_time, 2) over before
    from timed
    where digest is not null
    window before as (partition by digest, size order by time, connection)
),
repeats as (
    select connection, outer_connection, count(distinct frame) as requests
    from neighbours
    where outer_connection <> connection and host_of(src) in (host_of(outer_dst), host_of(outer_src))
        and case
            when outer_response_time is null or response_time is null then seconds_between(outer_time, time) < 1
            else response_time <= outer_response_time
        end
    group by connection, outer_connection
)
select distinct r.connection
from repeats r
join (select connection, count(digest) as requests from requests group by connection) own using (connection)
where r.requests = own.requests and own.requests > 1
