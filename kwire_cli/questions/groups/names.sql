-- One row for each group.
select group_id from groups order by group_id
