-- One row for each topic id with a known name.
select topic_id, topic from topic_names
