-- One row for each client and broker where the client begins a fetch session with each request, although it has one.
with marked as (
    select
        *,
        session_epoch = 0 and error_code = 0 and new_session_id <> 0 and had_session as is_ignored
    from fetches
    where not is_internal and session_epoch is not null and is_answered
)
select
    client,
    broker_address,
    max(software) as software,
    count(*) as fetches,
    count(*) filter (where is_ignored) as ignored,
    count(distinct new_session_id) filter (where new_session_id <> 0) as sessions,
    max(partitions_named) as partitions,
    coalesce(seconds_between(min(response_time), max(response_time)), 0) as span_s,
    ignored as weight,
    evidence(case when is_ignored then place end) as evidence
from marked
group by client, client_host, broker_address
having ignored >= greatest($least, $least_share * count(*))
