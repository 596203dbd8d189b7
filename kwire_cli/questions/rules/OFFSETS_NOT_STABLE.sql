-- One row for each group whose members wait for offsets that a transaction has written and that has not ended.
with waits as (
    select
        c.group_id, max(c.software) as software, list_sort(list(distinct c.client)) as clients,
        count(distinct (c.connection, c.frame)) as answers,
        min(c.response_time) as first_time, max(c.response_time) as last_time, evidence(c.place) as evidence
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where e.error = 'UNSTABLE_OFFSET_COMMIT' and c.api = 'OffsetFetch'
    group by c.group_id
),
answered as (
    select group_id, max(response_time) as found_time
    from calls
    where api = 'OffsetFetch' and is_answered and len(errors) = 0
    group by group_id
),
holders as (
    select w.group_id, arg_max(t, t.ordinal) as holder
    from waits w
    join transactions t on list_contains(t.groups, w.group_id) and not t.is_in_logs
        and coalesce(t.began <= w.last_time, true) and coalesce(t.decided >= w.first_time, true)
    group by w.group_id
)
select
    w.group_id,
    w.software,
    w.clients,
    w.answers,
    seconds_between(w.first_time, w.last_time) as span_s,
    case when a.found_time > w.last_time then true end as is_over,
    h.holder.name as holder_name,
    h.holder.transactional_id as transactional_id,
    h.holder.began as began,
    h.holder.timeout_s as timeout_s,
    w.answers as weight,
    list_sort(coalesce(h.holder.places[1:2], []) || w.evidence)[:10] as evidence
from waits w
left join answered a using (group_id)
left join holders h using (group_id)
where span_s >= $least_s
