-- One row for each client, or log, and topic with compressed batches that are not smaller than their records.
select
    'topic ' || topic || coalesce(', client ' || client, '') as subject,
    sampled,
    packed,
    unpacked,
    codecs,
    packed - unpacked as weight,
    packed_places as evidence
from batch_uses
where is_packed_in_vain
