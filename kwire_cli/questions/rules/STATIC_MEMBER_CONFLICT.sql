-- One row for each group.instance.id that two members have.
with refused as (
    select group_id, instance_id, error, max(software) as software, count(*) as times, evidence(place) as places
    from member_calls
    where error in ('FENCED_INSTANCE_ID', 'UNRELEASED_INSTANCE_ID')
    group by group_id, instance_id, error
),
conflicts as (
    select
        group_id, instance_id, max(software) as software, sum(times) as times,
        bool_or(error = 'FENCED_INSTANCE_ID') as is_fenced,
        list(error || case when times > 1 then ' ' || times || ' times' else '' end order by error) as errors,
        flatten(list(places)) as evidence
    from refused
    group by group_id, instance_id
),
holders as (
    select group_id, instance_id, list_sort(list(distinct client || ' at ' || client_host)) as holders
    from member_calls
    group by group_id, instance_id
)
select c.*, h.holders, c.times as weight
from conflicts c
left join holders h on h.group_id = c.group_id and h.instance_id = c.instance_id
