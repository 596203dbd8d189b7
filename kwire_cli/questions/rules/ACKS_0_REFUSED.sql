-- One row for each client and broker that closed connections right after a Produce request with acks=0.
with last_sent as (
    select
        connection,
        client,
        broker_address,
        max(software) as software,
        list(distinct topic_partition) as partitions,
        max(request_time) as sent_time,
        arg_max(request_place, frame) as place
    from produced
    where acks = 0 and not is_answered
    group by connection, client, broker_address
),
closed as (
    select s.*, c.closed_time
    from last_sent s
    join connections c using (connection)
    where c.closed_by = 'broker' and seconds_between(s.sent_time, c.closed_time) between 0 and $within_s
),
stopped as (
    select distinct s.connection
    from closed s
    join connections c using (broker_address)
    where c.closed_by = 'broker' and c.connection not in (from (select connection from closed))
        and abs(seconds_between(c.closed_time, s.closed_time)) < $within_s
)
select
    client,
    max(software) as software,
    broker_address,
    count(*) as closed_connections,
    list_sort(list_distinct(flatten(list(partitions)))) as partitions,
    closed_connections as weight,
    evidence(place) as evidence
from closed
where connection not in (from stopped)
group by client, broker_address
