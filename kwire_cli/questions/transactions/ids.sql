-- One row for each transactional id.
select transactional_id
from (select transactional_id from transactions union select transactional_id from transaction_events)
where transactional_id is not null
order by transactional_id
