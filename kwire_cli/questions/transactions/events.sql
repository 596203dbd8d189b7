-- One row for each event of a transaction, in the order of time.
select
    time, transactional_id, producer_id, epoch, event, count, coalesce(detail, '') as detail, errors, client, place.capture as capture,
    place.frame as frame, place.stream as stream, place.file as file, place.line as line, place.position as offset,
    place.position is not null as is_in_logs
from transaction_events
where (len($ids) = 0 or transactional_id in $ids)
    and ($result is null or name in (
        select name from transactions where result = $result and (len($ids) = 0 or transactional_id in $ids)
    ))
order by ordinal
