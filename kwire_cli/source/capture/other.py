"""What is not TCP: it is counted by kind, and that is all."""

from __future__ import annotations


class OtherError(Exception):
    """A packet carries no TCP that could be read; `kind` says what it is, or what is wrong with it."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


CUT_SHORT = "headers cut off"
"""The packet ends, or was cut by the capture, inside its headers."""
MALFORMED = "malformed"
TOO_DEEP = "nested too deep"
FRAGMENT = "ip fragment"
"""A fragment that did not complete its datagram; one that did counts as what the datagram is."""
