-- One row for each client and broker that refused the credentials of the client.
select client, software, broker_address, logins, reasons, weight, evidence
from refused_logins
where refusal = 'credentials'
