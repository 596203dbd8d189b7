-- One row for each client and broker that refused another login on a connection that was logged in.
select client, software, broker_address, logins, reasons, weight, evidence
from refused_logins
where refusal = 'again'
