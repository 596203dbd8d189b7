"""TLS between TCP streams and what is said in them: records, handshakes, keys from a key log."""
