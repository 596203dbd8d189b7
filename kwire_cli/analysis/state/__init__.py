"""The state of Kafka's own topics at an offset."""
