"""Compression framings of record sets, their limits, and checksums."""
