"""Record sets and log segments: batches, the gaps between them, and the records in them."""
