-- One row for each client that sent batches again. The client's host is a part of the key: what a proxy passes on was
-- not sent again. A batch that is too large is split and sent again, which MESSAGE_TOO_LARGE is about. And one row for
-- each batch that is in a log again.
with sent as (
    select
        *,
        row_number() over before as nth,
        lag(error) over before as error_before
    from sent_batches
    where crc_valid and producer_id >= 0 and base_sequence >= 0
        and error is distinct from 'MESSAGE_TOO_LARGE' and error is distinct from 'RECORD_LIST_TOO_LARGE'
    window before as (
        partition by capture_point, client_host, topic_partition, producer_id, producer_epoch, base_sequence, crc
        order by request_time, frame
    )
)
select
    'client ' || client as subject,
    client,
    max(software) as software,
    count(*) as batches,
    count(*) filter (where nth > 1) as repeated,
    list(distinct topic_partition order by topic_partition) filter (where nth > 1) as partitions,
    list(distinct error_before order by error_before) filter (where error_before is not null) as errors,
    case
        when repeated = count(*) filter (
            where error_before not in ('NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'REQUEST_TIMED_OUT')
        ) then 'refused'
    end as in_case,
    repeated as weight,
    list_distinct(arg_min(request_place, request_place.ordinal, 10) filter (where nth > 1)) as evidence
from sent
group by client
having count(*) filter (where nth > 1) > 0
union all by name
select 'partition ' || topic_partition as subject, text as problem, 1 as weight, [place] as evidence
from log_problems
where code = 'SEQUENCE_DUPLICATE'
