"""Frames of a text as filters see them: the columns that they have, and their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.message.frames import HEAD
from kwire_cli.message.opened import frame_fields, opened_batches
from kwire_cli.message.roles import error_codes, role_values, roles, topics_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A frame without a capture around it: there are no times, ends and streams."""

    redaction: Redaction
    frame: Frame

    def column(self, name: str) -> Any:
        """The value of a column; None where there is none."""
        found = _FRAME_COLUMNS.get(name)
        return found(self) if found else None

    def fields(self) -> dict[str, Any]:
        """Header and body in JSON form."""
        return frame_fields(self.frame, self.redaction.frame(self.frame))

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batches in its records fields, with their records if `deep`."""
        body, hidden = self.frame.body, self.redaction.frame(self.frame)
        if body is None or body.guess:
            return []
        return opened_batches(roles(body.spec, body.entry), body.raw, self.redaction.reading(), hidden.get("body", frozenset()), deep=deep)

    def payloads(self) -> list[dict[str, Any]]:
        """What is decoded of messages in its fields."""
        return self.frame.payloads(self.redaction.frame(self.frame))

    def header(self, name: str) -> Any:
        """A field of the header, None where it is hidden."""
        return None if self.hides_head or not self.frame.header else self.frame.header.value.get(name)

    @property
    def hides_head(self) -> bool:
        """Whether the frame is hidden from its first byte on."""
        return HEAD in self.redaction.frame(self.frame)

    @property
    def shown(self) -> Frame:
        """The frame as its columns show it."""
        return self.frame.shown(self.redaction.frame(self.frame))

    def roles(self) -> dict[str, list[bytes]]:
        """The values in the body that have a role."""
        body = self.frame.body
        return {} if body is None or body.guess or self.hides_head else role_values(roles(body.spec, body.entry), body.raw)


def _topics(row: FrameRow) -> list[str]:
    names, ids = topics_in(row.roles())
    return [*names, *ids]


def _errors(row: FrameRow) -> list[str | int]:
    codes = error_codes(row.roles()) if row.frame.kind == "response" else []
    return [row.redaction.catalog.error_name(code) or code for code in codes]


_FRAME_COLUMNS: dict[str, Callable[[FrameRow], Any]] = {
    "frame": lambda row: row.frame.number,
    "kind": lambda row: row.frame.kind,
    "size": lambda row: row.frame.size,
    "apiKey": lambda row: row.shown.api_key,
    "api": lambda row: row.shown.api,
    "apiVersion": lambda row: row.shown.api_version,
    "correlationId": lambda row: row.header("correlationId"),
    "clientId": lambda row: row.header("clientId"),
    "topics": _topics,
    "error": _errors,
    "anomaly": lambda row: [anomaly.code for anomaly in row.frame.anomalies],
}
