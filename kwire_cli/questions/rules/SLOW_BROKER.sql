-- One row for each broker that takes much longer than the other brokers for the same api. Calls that it answered after
-- it stood still do not count.
with timed as (
    select c.api, c.broker_address, c.broker, c.served_us, c.place
    from calls c
    where c.served_us is not null and not c.delayed and not exists (
        select 1 from broker_events e
        where e.broker_address = c.broker_address and e.event = 'stood still'
            and c.response_time between e.ended and e.last_time
    )
),
brokers as (
    select
        api, broker_address, max(broker) as broker, count(*) as calls,
        percentile_disc(0.95) within group (order by served_us) as high_us
    from timed
    group by api, broker_address
    having count(*) >= $least_calls
),
compared as (
    select
        b.api, b.broker_address, b.broker, b.calls, b.high_us,
        percentile_disc(0.5) within group (order by o.high_us desc) as others_us
    from brokers b
    join brokers o on o.api = b.api and o.broker_address <> b.broker_address
    group by b.api, b.broker_address, b.broker, b.calls, b.high_us
),
slow as (
    select
        *,
        high_us / greatest(others_us, 1) as times,
        row_number() over (partition by broker_address order by high_us / greatest(others_us, 1) desc, api) as nth
    from compared
    where high_us >= $least_times * others_us and high_us - others_us >= $least_more_us
),
apis as (
    select broker_address, list(api order by api) filter (where nth > 1) as other_apis
    from slow
    group by broker_address
)
select
    s.api, s.broker_address, s.broker, s.calls, s.high_us, s.others_us, a.other_apis,
    s.times as weight,
    evidence(case when t.served_us > $least_more_us then t.place end) as evidence
from slow s
join apis a on a.broker_address = s.broker_address
join timed t on t.broker_address = s.broker_address and t.api = s.api
where s.nth = 1
group by s.api, s.broker_address, s.broker, s.calls, s.high_us, s.others_us, a.other_apis, s.times
