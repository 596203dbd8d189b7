"""Kafka's log directories: kinds of files by name, and a reader for each kind of file without record batches."""
