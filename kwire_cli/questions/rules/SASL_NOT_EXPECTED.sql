-- One row for each client and broker at whose listener the client logs in although the listener has no SASL.
select client, software, broker_address, logins, reasons, weight, evidence
from refused_logins
where refusal = 'not expected'
