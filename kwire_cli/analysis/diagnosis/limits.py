"""Bounds that rules of the diagnosis share: how much a finding keeps, and from when on an answer is late."""

from __future__ import annotations

MOST_EVIDENCE = 10
"""Places that a finding keeps: the first ones."""
PATIENCE = 10.0
"""Seconds without an answer. Clients give up after request.timeout.ms, 30 s by default for most; a broker that is well
answers within one. Apis whose answers brokers hold back on purpose do not count."""
