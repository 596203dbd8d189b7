-- One row for each client that waited for a coordinator, and not for long.
select *, answers as weight from coordinator_waits where not is_long
