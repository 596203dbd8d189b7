-- One row for each rebalance, transaction, change of leaders and stop of a broker, with its begin and end. A rebalance
-- begins with what set it off. A change of leaders is at the first response that names the new one. If a begin is not in
-- the input, or a broker does not come back, begin and end are the one time that is known. Logs show the transactions of
-- the traffic once more, so transactions in logs count only if there are no others.
with spans as (
    select
        'rebalance' as kind,
        'group ' || group_id as subject,
        coalesce(least(trigger_place.time, start_time), end_time) as began,
        end_time as ended,
        concat_ws(' ', client, reason) as text,
        if(is_grave, 'warning', '') as level,
        place
    from rebalances
    where not is_forming
    union all
    select
        'transaction', coalesce(transactional_id, name), coalesce(began, ended), ended, result,
        if(result = 'aborted', 'error', ''), places[1]
    from transactions
    where is_in_logs = (select bool_and(is_in_logs) from transactions)
    union all
    select
        'broker', 'broker ' || coalesce(broker::varchar, broker_address), began, coalesce(ended, last_time),
        event, 'error', evidence[1]
    from broker_events
    union all
    select
        'leader', topic_partition, response_time, response_time,
        'leader ' || leader_before || ' → ' || leader, 'warning', response_place
    from leader_changes
)
select
    kind, subject, text, level,
    epoch_us(began) as began_us,
    epoch_us(ended) as ended_us,
    place.frame as frame,
    place.capture as capture
from spans
where began is not null
order by began, kind, subject
