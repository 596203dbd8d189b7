-- One row: how many requests other brokers passed on.
select count(*) as requests from messages where kind = 'request' and forwarded
