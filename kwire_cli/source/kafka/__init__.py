"""Kafka connections: bytes of both directions in, frames in pairs out. No I/O."""
