-- One row for each group.instance.id that two members have.
with holders as (
    select group_id, instance_id, list_sort(list(distinct client || ' at ' || client_host)) as holders
    from member_calls
    group by group_id, instance_id
)
select
    c.group_id,
    c.instance_id,
    max(c.software) as software,
    count(*) as times,
    bool_or(c.error = 'FENCED_INSTANCE_ID') as is_fenced,
    counted(c.error) as errors,
    h.holders,
    times as weight,
    evidence(c.place) as evidence
from member_calls c
join holders h using (group_id, instance_id)
where c.error in ('FENCED_INSTANCE_ID', 'UNRELEASED_INSTANCE_ID')
group by c.group_id, c.instance_id, h.holders
