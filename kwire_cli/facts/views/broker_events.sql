-- One row for each time at which a broker stopped (it ended all its connections at once, or its only one and refused the
-- next) or stood still (it answered nothing while requests waited, then all of them). `ended` is when it answered again,
-- null if it did not; `broker` is the node id.
with closings as (
    select broker_address, closed_time as time, connection, client, place, null::timestamptz as answer_time
    from connection_places
    where closed_by = 'broker' and outcome = 'accepted' and useful_answers > 0
),
answers as (
    select broker_address, response_time as time, connection, client, null as place, response_time as answer_time
    from calls
    where response_time is not null
),
timeline as (
    select
        *,
        lag(case when answer_time is null then time end ignore nulls) over before as closing_before,
        min(answer_time) over (
            partition by broker_address order by time, connection rows between 1 following and unbounded following
        ) as next_answer
    from (select * from closings union all select * from answers)
    window before as (partition by broker_address order by time, connection)
),
numbered_closings as (
    select
        *,
        count(*) filter (where closing_before is null or seconds_between(closing_before, time) >= 2) over (
            partition by broker_address order by time, connection rows between unbounded preceding and current row
        ) as event
    from timeline
    where answer_time is null
),
stops as (
    select
        broker_address, 'stopped' as event, min(time) as began, max(time) as last_time, arg_max(next_answer, time) as ended,
        count(*) as connections, count(distinct client) as clients, null::bigint as waiting, evidence(place) as evidence
    from numbered_closings
    group by broker_address, event
),
answered as (
    select
        *, lag(response_time) over (partition by broker_address order by response_time, connection, frame) as answer_before
    from calls
    where response_time is not null
),
numbered_answers as (
    select
        *,
        sum(case when seconds_between(answer_before, response_time) >= 2 then 1 else 0 end) over whole as pause,
        case when seconds_between(answer_before, response_time) >= 2 then answer_before end as begins,
        case when seconds_between(answer_before, response_time) >= 2 then response_time end as ends
    from answered
    window whole as (
        partition by broker_address order by response_time, connection, frame
        rows between unbounded preceding and current row
    )
),
pauses as (
    select
        *,
        max(begins) over (partition by broker_address, pause) as pause_began,
        max(ends) over (partition by broker_address, pause) as pause_ended
    from numbered_answers
),
standstills as (
    select
        broker_address, 'stood still' as event, pause_began as began, max(response_time) as last_time, pause_ended as ended,
        count(distinct connection) as connections, count(distinct client) as clients, count(*) as waiting,
        evidence(place) as evidence
    from pauses
    where pause_began is not null and api not in ('JoinGroup', 'SyncGroup')
        -- these errors come after a timeout of the broker, which waits for other brokers
        and not list_has_any(
            errors, ['COORDINATOR_NOT_AVAILABLE', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'REQUEST_TIMED_OUT']
        )
        and seconds_between(greatest(request_time, pause_began), pause_ended) >= 1
        and latency_us / 1000 > coalesce(allowed_ms, 0) + 1000
    group by broker_address, pause, pause_began, pause_ended
    having count(distinct connection) >= 2
),
events as (
    select *
    from stops
    where seconds_between(began, last_time) < 0.5 and (ended is null or seconds_between(last_time, ended) > 1)
        and (
            connections >= 2
            or exists (
                select 1 from connections c
                where c.broker_address = stops.broker_address and c.outcome = 'refused'
                    and c.first_time between stops.last_time and stops.last_time + to_seconds(10)
            )
        )
    union all
    select * from standstills
),
nodes as (select broker_address, max(broker) as broker from connections group by broker_address)
select
    e.broker_address, n.broker, e.event, e.began, e.last_time, e.ended, e.connections, e.clients, e.waiting, e.evidence,
    seconds_between(e.began, e.ended) as lasted_s
from events e
left join nodes n on n.broker_address = e.broker_address
