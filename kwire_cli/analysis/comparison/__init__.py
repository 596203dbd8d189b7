"""Two messages, frames or partitions compared."""
