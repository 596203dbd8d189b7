-- The anomalies of frames and of the batches in them, and how often each occurs.
with codes as (
    select unnest(list_concat(coalesce(anomalies, []), coalesce(batch_anomalies, []))) as code from frames
)
select code, count(*) as occurrences
from codes
group by code
order by occurrences desc, code
