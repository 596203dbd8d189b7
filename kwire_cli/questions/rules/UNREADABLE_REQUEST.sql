-- One row for each software and api of whose requests Kafka's reader refuses some.
select writer, client, software, api, versions, meanings, requests, weight, evidence
from odd_writers
where is_refused
