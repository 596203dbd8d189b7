-- One row for each api with the versions that the newest release of Kafka accepts.
select release, api_key, first_version, last_version
from accepted_versions
where number = (select max(number) from accepted_versions)
