-- One row for each topic id with a name that is known.
select key as topic_id, min(name) as topic from names where kind = 'topic' group by key
