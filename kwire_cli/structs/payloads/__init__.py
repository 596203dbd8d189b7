"""What stands in front of messages that lie inside other bytes."""
