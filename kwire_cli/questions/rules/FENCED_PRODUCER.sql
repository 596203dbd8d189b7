-- One row for each transactional id whose producer was fenced, and for each client without a transactional id.
with fences as (
    select distinct
        coalesce(e.transactional_id, c.transactional_id) as transactional_id,
        case when e.transactional_id is null then c.client end as producer,
        c.client,
        c.software,
        concat(c.api, ' ', e.error, if(e.transactional_id is null, '', ' (asked by the broker)')) as error,
        c.place
    from errors e
    join calls c on c.connection = e.connection and c.response_frame = e.frame
    where e.error in ('INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED')
        and c.api in ('InitProducerId', 'AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn', 'Produce')
),
by_error as (
    select
        transactional_id,
        case when transactional_id is null then client end as client,
        error,
        count(*) as times,
        max(software) as software,
        list(distinct producer) filter (where producer is not null) as producers,
        list(place) as places
    from fences
    group by transactional_id, case when transactional_id is null then client end, error
),
instances as (
    select transactional_id, list_sort(list(distinct client || ' at ' || client_address)) as instances
    from calls
    where api = 'InitProducerId' and is_answered and len(errors) = 0
    group by transactional_id
)
select
    e.transactional_id,
    e.client as producer,
    max(e.software) as software,
    list_sort(list_distinct(flatten(list(e.producers)))) as producers,
    list(e.times || ' ' || e.error order by e.error) as errors,
    case when len(i.instances) > 1 then len(i.instances) end as initialised,
    case when len(i.instances) > 1 then i.instances end as instances,
    case when len(i.instances) = 1 then i.instances[1] end as only_instance,
    cast(sum(e.times) as bigint) as weight,
    flatten(list(e.places)) as evidence
from by_error e
left join instances i on i.transactional_id = e.transactional_id
group by e.transactional_id, e.client, i.instances
