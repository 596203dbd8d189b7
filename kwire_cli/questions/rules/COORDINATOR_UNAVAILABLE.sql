-- One row for each client that waited for coordinators of groups or transactional ids, one for long waits and one for
-- short ones. A wait is COORDINATOR_NOT_AVAILABLE and its like in a row, up to the next answer without an error. The
-- broker that FindCoordinator names may not be ready yet, so that an answer of FindCoordinator ends a wait only if the
-- next answer of that broker is no such error. A coordinator that cannot write a record answers
-- COORDINATOR_NOT_AVAILABLE too (`is_unwritten`), after a while or again and again.
with searches as (
    select
        connection, frame, body.keyType = 1 as is_transactional,
        case when len(body.coordinatorKeys) > 0 then body.coordinatorKeys else [body."key"] end as keys
    from bodies_find_coordinator_request
),
searched as (select connection, frame, is_transactional, unnest(keys) as key from searches),
answers as (
    select
        c.client, c.client_host, c.software, c.api, c.errors, c.response_time, c.response_place, c.latency_us,
        case
            when c.api = 'FindCoordinator' then s.key
            when c.api = 'TxnOffsetCommit' then c.group_id
            else coalesce(c.transactional_id, c.group_id)
        end as key,
        coalesce(s.is_transactional, c.api <> 'TxnOffsetCommit' and c.transactional_id is not null) as is_transactional,
        list_filter(
            c.errors,
            lambda error: error in ('COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR', 'COORDINATOR_LOAD_IN_PROGRESS')
        ) as missing,
        c.api in ('SyncGroup', 'OffsetCommit', 'TxnOffsetCommit')
            and list_contains(c.errors, 'COORDINATOR_NOT_AVAILABLE') as is_write
    from calls c
    left join searched s on s.connection = c.connection and s.frame = c.frame
    where c.is_answered
),
followed as (
    select
        *,
        last_value(case when len(missing) > 0 then api end ignore nulls) over (
            partition by client, client_host, key order by response_time, response_place.ordinal
            rows between unbounded preceding and 1 preceding
        ) as failed_before,
        first_value(case when api <> 'FindCoordinator' then len(missing) > 0 end ignore nulls) over (
            partition by client, client_host, key order by response_time, response_place.ordinal
            rows between 1 following and unbounded following
        ) as fails_next
    from answers
    where key <> ''
),
numbered as (
    select
        *,
        count(*) filter (
            where len(errors) = 0
            and (api <> 'FindCoordinator' or (failed_before = 'FindCoordinator' and not coalesce(fails_next, false)))
        ) over (
            partition by client, client_host, key order by response_time, response_place.ordinal
            rows between unbounded preceding and current row
        ) as works
    from followed
),
ended as (select *, max(works) over (partition by client, client_host, key) as all_works from numbered),
waits as (
    select
        client, client_host, key, max(software) as software, count(*) as answers, list(distinct api) as apis,
        flatten(list(missing)) as errors,
        coalesce(seconds_between(min(response_time), max(response_time)), 0) as lasted_s,
        max(all_works) > works as is_over,
        coalesce(max(latency_us) filter (where is_write) >= 1e6, false)
            or count(*) filter (where is_write) >= 3 as is_unwritten,
        bool_and(is_transactional) as is_transactional,
        list(distinct response_place) as places
    from ended
    where len(missing) > 0
    group by client, client_host, key, works
)
select
    client,
    -- a new cluster makes the coordinator's topic in a second or two
    is_unwritten or (answers >= 4 and lasted_s >= 3) as is_long,
    case
        when not is_long then 'moment'
        when bool_or(is_unwritten) then 'write'
        when bool_and(is_transactional) then 'transactions'
    end as in_case,
    max(software) as software,
    sum(answers)::bigint as answers,
    sum(answers) as weight,
    list_sort(list_distinct(flatten(list(apis)))) as apis,
    list_sort(list(distinct key)) as keys,
    list_sort(list_distinct(flatten(list(errors)))) as errors,
    nullif(max(lasted_s), 0) as lasted_s,
    case when count(*) > count(distinct key) then count(*) end as waits,
    case when bool_and(is_over) then true end as is_over,
    list_sort(list_distinct(flatten(list(places))))[:10] as evidence
from waits
group by client, client_host, is_long
