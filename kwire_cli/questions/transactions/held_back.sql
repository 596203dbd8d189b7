-- One row for each open transaction in the log of a partition.
select
    topic_partition as partition, producer_id, epoch, transactional_id, first_offset, end_offset,
    end_offset - first_offset as behind, since, coordinator, is_hanging as hanging, place.file as file, true as is_in_logs
from open_in_logs
where len($ids) = 0 or transactional_id in $ids
order by ordinal
