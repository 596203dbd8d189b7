-- One row for each group.
select group_id from groups where group_id is not null order by group_id
