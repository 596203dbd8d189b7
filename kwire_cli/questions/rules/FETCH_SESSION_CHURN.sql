-- One row for each client and broker where fetch sessions often end or are refused. An answer that a quota empties ends
-- the session.
with marked as (
    select
        *,
        error_code in (70, 71) as is_lost,
        session_epoch = 0 and nth > 1 and error_code = 0 and coalesce(throttle_ms, 0) = 0
            and not coalesce(lag(throttle_ms > 0) over (partition by connection order by frame), false) as is_anew
    from fetches
    where not is_internal and session_epoch is not null and is_answered
)
select
    client,
    broker_address,
    max(software) as software,
    count(*) as fetches,
    count(*) filter (where is_anew) as anew,
    nullif(count(*) filter (where is_anew and new_session_id = 0), 0) as refused,
    nullif(count(*) filter (where error_code = 70), 0) as not_found,
    nullif(count(*) filter (where error_code = 71), 0) as wrong_epoch,
    coalesce(max(partitions_named) filter (where is_anew), 0) as partitions,
    seconds_between(
        min(response_time) filter (where is_anew or is_lost), max(response_time) filter (where is_anew or is_lost)
    ) as span_s,
    count(*) filter (where is_anew or is_lost) as weight,
    evidence(case when is_anew or is_lost then place end) as evidence
from marked
group by client, client_host, broker_address
having
    weight >= greatest($least, $least_share * count(*))
    and count(*) filter (where is_anew and had_session and new_session_id <> 0) <= $most_share_ignored * weight
