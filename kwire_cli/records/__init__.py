"""Record sets and log segments: batches, what lies between them, and the records in them."""
