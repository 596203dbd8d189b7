"""Keys and values of records that were read by a format, as the payload of a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import Anomaly
from kwire_cli.records.kafka_topics import RecordPayload
from kwire_cli.records.payload_model import Payload
from kwire_cli.records.schemas.model import UnfitError
from kwire_cli.records.schemas.redact import FieldRedaction

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

NO_REDACTION = FieldRedaction()


@dataclass(frozen=True)
class ReadPart(Payload):
    """A key or value that was read with a format, or the reason why it could not be read.

    `type` is the name of the type in the schema. `schema_id` is the id or UUID in the bytes or headers, else the name
    of the schema. `plain` is the value as JSON, None if the value does not fit.
    """

    format: str = ""
    schema_id: int | str | None = None
    reason: str = ""
    fits: bool = True

    @property
    def is_known(self) -> bool:
        """Return whether the bytes were read."""
        return self.fits

    def json_data(self, *, hidden: frozenset[int] = frozenset()) -> Any:  # noqa: ARG002 - secrets are masked in `plain`
        """Return the value in JSON form."""
        return self.plain

    def shown(self) -> dict[str, Any]:
        """Return `{"format","schema","type","data"}`, with the reason as `"error"` if the value does not fit."""
        document = {"format": self.format, "schema": self.schema_id, "type": self.type or None, "data": self.plain}
        return document | {"error": self.reason} if self.reason else document

    @classmethod
    def of(
        cls, path: str, data: bytes, form: str, schema_id: int | str | None, kind: str, plain: Any, reason: str
    ) -> ReadPart:
        """Return a part that was read. `reason` is its violation of the schema, or empty."""
        notes = _notes(UnfitError(reason)) if reason else ()
        return cls(path, kind, None, data, None, plain, notes, format=form, schema_id=schema_id, reason=reason)

    @classmethod
    def unfit(cls, path: str, data: bytes, form: str, schema_id: int | str | None, error: UnfitError) -> ReadPart:
        """Return a part that could not be read, with the reason."""
        notes = _notes(error)
        reason = str(error)
        return cls(path, "", None, data, None, None, notes, format=form, schema_id=schema_id, reason=reason, fits=False)


def _notes(error: UnfitError) -> tuple[Anomaly, ...]:
    return (Anomaly(error.code, "", 0, str(error)),)


@dataclass(frozen=True)
class ReadRecord(RecordPayload):
    """The key and value of a record as they were read, None for a part that is null or has no format.

    `whole` is true if all parts with bytes were read. `secret` are the parts whose bytes are hidden, because a field in
    them is redacted.
    """

    secret: frozenset[str] = frozenset()
    whole: bool = False
    redaction: FieldRedaction = NO_REDACTION

    def masked(self) -> Self:
        """Return the record with its redacted fields masked."""
        record = self
        for name in self.redaction.parts:
            part = record.key if name == "key" else record.value
            if isinstance(part, ReadPart) and part.fits:
                masked = replace(part, plain=self.redaction.masked(name, part.plain))
                record = replace(record, key=masked) if name == "key" else replace(record, value=masked)
        return record

    @property
    def known(self) -> bool:
        """Return whether all bytes of key and value were read."""
        return self.whole

    def to_json(self, *, hidden: Mapping[str, frozenset[int]] | None = None) -> dict[str, Any]:  # noqa: ARG002 - as in ReadPart
        """Return `{"key":{"format","schema","type","data"},"value":{…}}`."""
        return {
            name: part.shown() if isinstance(part, ReadPart) else None
            for name, part in (("key", self.key), ("value", self.value))
        }
