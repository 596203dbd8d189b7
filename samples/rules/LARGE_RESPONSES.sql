select client, max(software) as software, api, max(response_size) as largest, evidence(response_place) as evidence
from calls
where response_size > $least_bytes
group by client, api
