-- One row for each producer with transactions that were aborted, in traffic or in logs.
with judged as (
    select
        *,
        result = 'aborted' as is_aborted,
        is_aborted and ended_by is distinct from 'client' and timeout_s > 0 and coalesce(duration_s, 0) >= timeout_s
            as is_late,
        case
            when not is_aborted then null
            when is_late then 'by the coordinator, after its timeout'
            when ended_by = 'client' then 'by the client'
            when ended_by = 'initProducerId' then 'by InitProducerId of a new instance'
        end as way
    from transactions
)
select
    case when any_value(j.transactional_id) is null then j.name else 'transactional id ' || j.name end as subject,
    count(*) as transactions,
    count(*) filter (where j.is_aborted) as aborted,
    coalesce(bool_or(j.is_late), false) as is_any_late,
    counted(j.way) as ways,
    any_value(j.transactional_id) as transactional_id,
    aborted as weight,
    flatten(list(j.places[1:2] order by j.ordinal) filter (where j.is_aborted)) as evidence
from judged j
group by j.name, j.is_in_logs
having aborted > 0
