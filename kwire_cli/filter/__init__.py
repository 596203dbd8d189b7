"""The filter language of `--filter`, which selects frames and batches (docs/filter.md)."""
