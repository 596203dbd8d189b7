select client, max(software) as software, api, max(response_size) as largest, evidence(response_place) as evidence
from calls
where response_size > 700
group by client, api
