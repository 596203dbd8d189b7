-- One row for each client and broker that does not offer the mechanism that the client asks for.
select client, software, broker_address, logins, reasons, weight, evidence
from refused_logins
where refusal = 'mechanism'
