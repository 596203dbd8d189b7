"""Decryption of TLS between TCP streams and Kafka connections: records, handshakes, and keys from key logs."""
