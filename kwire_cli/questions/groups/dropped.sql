-- One row: how many events were too many to keep. Those of groups beyond the limit are in the row without a group.
select coalesce(sum(dropped), 0)::bigint as dropped
from groups
where len($names) = 0 or group_id is null or group_id in $names
