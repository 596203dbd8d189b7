"""The bound that rules of the diagnosis share: how much a finding keeps."""

from __future__ import annotations

MOST_EVIDENCE = 10
"""Places that a finding keeps: the first ones."""
