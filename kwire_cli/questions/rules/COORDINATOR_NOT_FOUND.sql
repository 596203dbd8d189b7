-- One row for each client that asks for a coordinator again and again.
select *, answers as weight from coordinator_waits where is_long
