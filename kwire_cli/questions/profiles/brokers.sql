-- One row: how many requests brokers and controllers sent.
select count(*) as requests from profile_calls where is_of_broker
