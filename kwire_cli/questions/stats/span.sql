-- One row: the first and the last time of messages in microseconds since 1970, and how many messages have no time.
select
    min(epoch_us(time)) as first_us,
    max(epoch_us(time)) as last_us,
    count(*) filter (where time is null) as without_time
from messages
