"""The interface of formats of keys and values, which a catalogue contains in addition to its definitions."""

from __future__ import annotations

from typing import Any, Protocol


class Serdes(Protocol):
    """The formats of records that applications wrote, `records.schemas.serdes`. Like definitions they determine the
    meaning of bytes.
    """

    def reads(self) -> bool:
        """Return whether records are read, or have fields that are redacted."""

    @property
    def redaction(self) -> Any:
        """Return the fields to redact (`records.schemas.redact.FieldRedaction`)."""

    def redacts(self) -> bool:
        """Return whether there are fields to redact."""

    def record(self, topic: str | None, key: bytes | None, value: bytes | None, headers: Any, /) -> Any:
        """Return the key and value of a record as they are read, None if neither is."""
