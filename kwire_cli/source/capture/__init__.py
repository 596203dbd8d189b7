"""Packet captures: files to packets, packets to TCP segments, segments to ordered bytes and gaps. docs/captures.md has the rules."""
