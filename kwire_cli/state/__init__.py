"""What one of Kafka's own topics says at an offset, its records folded: committed offsets and groups, transactions, the KRaft image, share state."""
