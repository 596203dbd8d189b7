-- One row for each connection that the broker closed while a request of the client had no answer, with the first such
-- request and the cause, as far as the capture shows it.
with ranked as (
    select
        *, row_number() over (partition by connection order by frame) as nth,
        lag(coalesce(response_time, request_time)) over (partition by connection order by frame) as call_before,
        max(response_frame) over (partition by connection) as last_answer
    from calls
),
first_unanswered as (
    select connection, min(frame) as frame
    from ranked
    where response_frame is null and expects_answer and (last_answer is null or frame > last_answer)
    group by connection
),
offered as (
    select c.broker_address, r.connection, unnest(r.body.apiKeys) as offer
    from bodies_api_versions_response r
    join calls c on c.connection = r.connection and c.response_frame = r.frame
),
controllers as (
    select broker_address
    from (
        select
            broker_address, connection, bool_or(offer.apiKey = 52) as has_vote, bool_or(offer.apiKey = 0) as has_produce
        from offered
        group by broker_address, connection
    )
    group by broker_address
    having bool_or(has_vote and not has_produce)
),
answered as (
    select client, api, api_version, true as is_answered
    from calls
    where is_answered
    group by client, api, api_version
),
stopped as (select broker_address, began, last_time from broker_events where event = 'stopped'),
working as (
    select
        client_host, broker_address, count(*) as connections, min(first_time) as first_time,
        case when count(*) = count(closed_time) then max(closed_time) end as last_time
    from connection_places
    where useful_answers > 0
    group by client_host, broker_address
),
facts as (
    select
        q.client, q.software, q.broker_address, q.connection, q.api, q.api_key, q.api_version, q.request_size,
        q.is_internal, q.request_place as place, q.request_time, c.closed_time, c.opened, c.reset, c.answers,
        c.useful_answers, c.first_time, c.client_host, c.broker_bytes,
        seconds_between(coalesce(q.call_before, c.first_time), q.request_time) as idle_s,
        exists (
            select 1 from stopped s
            where s.broker_address = q.broker_address
                and c.closed_time between s.began - to_seconds(1) and s.last_time + to_seconds(1)
        ) as is_in_stop,
        q.broker_address in (select broker_address from controllers) as is_controller,
        coalesce(q.api_version not between o.first_version and o.last_version, false) as is_not_offered,
        a.is_answered is not null as is_answered_elsewhere,
        case when w.first_time < c.closed_time and coalesce(w.last_time > c.closed_time, true) then w.connections else 0
            end as working_connections
    from first_unanswered f
    join ranked q using (connection, frame)
    join connection_places c on c.connection = q.connection
    left join offered_versions o on o.broker_address = q.broker_address and o.api_key = q.api_key
    left join working w on w.client_host = c.client_host and w.broker_address = c.broker_address
    left join answered a
        on a.client = q.client and a.api = q.api and a.api_version = q.api_version
    where c.closed_by = 'broker' and len(c.protocols) = 0
        and not exists (
            select 1 from pauses p
            where p.capture_point is not distinct from q.capture_point
                and q.request_time <= p.began and c.closed_time >= p.ended
        )
        and not exists (select 1 from calls where latency_us < 0)  -- clocks disagree: the order of packets means nothing
)
select
    *,
    case
        when is_in_stop then 'stopped'
        when is_controller and not is_internal then 'controller'
        when is_not_offered and api <> 'ApiVersions' then 'version'
        when reset and answers > 0 and idle_s >= 3 and is_answered_elsewhere then 'stale'
        when reset and idle_s >= 60 then 'stale'
        when opened and answers = 0 and working_connections > 0 and is_answered_elsewhere
            and seconds_between(first_time, closed_time) < 10 then 'limit'  -- limits of rates delay the close
        when opened and useful_answers = 0 and answers > 0
            and api not in ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate') then 'login'
        else 'unknown'
    end as cause
from facts
