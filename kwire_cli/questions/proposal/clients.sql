-- A row is a client and a form: what the messages of the client, and those sent to it, cost more in this form.
select client, form, count(*) as messages, sum(size) as bytes, sum(size - before) as difference
from prices
where number > 0
group by client, form, number
order by client nulls last, number
