-- One row: the first and the last time in microseconds since 1970.
select epoch_us(min(time)) as first_us, epoch_us(max(time)) as last_us from frames
