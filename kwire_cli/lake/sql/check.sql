-- Capture points whose frames and costs are not the same number of bytes: none if the lake is whole
with sizes as (
    select capture_point, cast(sum(size) as bigint) as frame_bytes from frames where source = 'capture' group by capture_point
),
paid as (
    select capture_point, cast(sum(prefix_bytes + value_bytes) as bigint) as cost_bytes from costs group by capture_point
)
select capture_point, coalesce(frame_bytes, 0) as frame_bytes, coalesce(cost_bytes, 0) as cost_bytes
from sizes full outer join paid using (capture_point)
where coalesce(frame_bytes, 0) <> coalesce(cost_bytes, 0)
order by capture_point
