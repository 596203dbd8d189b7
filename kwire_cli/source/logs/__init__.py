"""Kafka's log directories: which file is which by its name, and a reader for each kind of file but those of record
batches.
"""
