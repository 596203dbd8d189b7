-- One row for each software and api whose requests have bytes that Kafka's clients would not write, but can be read.
select writer, client, software, api, versions, meanings, requests, weight, evidence
from odd_writers
where not is_refused
