"""Record formats, one file each: Kafka's v0, v1 and v2, and the drafts of KIP-98 and KIP-82."""
