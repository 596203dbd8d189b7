-- One row for each transactional id whose producer was fenced, and for each client without a transactional id. The error
-- is INVALID_TXN_STATE after some timeouts (KIP-890), and INVALID_PRODUCER_ID_MAPPING if the transactional id expired.
with fences as (
    select distinct
        coalesce(e.transactional_id, c.transactional_id) as transactional_id,
        case when e.transactional_id is null then c.client end as producer,
        c.client,
        c.software,
        e.error as code,
        concat(c.api, ' ', e.error, if(e.transactional_id is null, '', ' (asked by the broker)')) as error,
        c.place,
        c.request_time
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where (
            e.error in ('INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_ID_MAPPING', 'PRODUCER_FENCED')
            or (e.error = 'INVALID_TXN_STATE' and c.api = 'EndTxn')
        )
        and c.api in ('InitProducerId', 'AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn', 'Produce')
),
instances as (
    select transactional_id, list_sort(list(distinct client || ' at ' || client_address)) as instances
    from calls
    where api = 'InitProducerId' and is_answered and len(errors) = 0
    group by transactional_id
),
timed_out as (
    select
        transactional_id,
        max(seconds_between(began, decided)) as open_s,
        arg_max(timeout_s, seconds_between(began, decided)) as timeout_s
    from transactions
    where result = 'aborted' and ended_by = 'coordinator' and not is_in_logs
        and seconds_between(began, decided) >= timeout_s
    group by transactional_id
)
select
    f.transactional_id,
    case when f.transactional_id is null then f.client end as producer_alone,
    max(f.software) as software,
    list_sort(list(distinct f.producer) filter (where f.producer is not null)) as producers,
    counted(f.error) as errors,
    case
        when any_value(t.open_s) is not null then 'timeout'
        when bool_and(f.code = 'INVALID_PRODUCER_ID_MAPPING') then 'expired'
        when len(i.instances) > 1 then 'instances'
    end as in_case,
    case when bool_or(f.code = 'INVALID_TXN_STATE') then 'INVALID_TXN_STATE' end as state_error,
    any_value(t.open_s) as open_s,
    any_value(t.timeout_s) as timeout_s,
    len(i.instances) as initialised,
    i.instances,
    count(*) as weight,
    evidence(f.place) as evidence
from fences f
left join instances i on i.transactional_id = f.transactional_id
left join timed_out t on t.transactional_id = f.transactional_id
where f.code <> 'INVALID_TXN_STATE' or t.open_s is not null
group by f.transactional_id, producer_alone, i.instances
