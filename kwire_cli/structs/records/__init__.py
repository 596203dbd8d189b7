"""Record formats, one file each: v0, v1 and v2 as Kafka has them, and the drafts of KIP-98 and KIP-82."""
