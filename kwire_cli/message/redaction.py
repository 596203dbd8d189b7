"""The redaction of messages, frames, records and batches.

One object decides what to hide. Every command, view and table calls it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.engine.tree import places
from kwire_cli.message.decoded import by_span
from kwire_cli.message.roles import RecordsAs, can_hold_secrets, is_internal, roles
from kwire_cli.message.secrets import (
    hidden_in_frame,
    hidden_in_record,
    hidden_spans,
    is_damaged,
    whole_frame_hidden,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.engine.tree import Tree
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.known_layout import Layout, Plain
    from kwire_cli.records.batch import Batch, Payloads
    from kwire_cli.records.kafka_topics import RecordPayload
    from kwire_cli.spec.catalog import Catalog

    Hidden = dict[str, frozenset[int]]

_WHOLE = dict.fromkeys(("key", "value", "headers"), frozenset({0}))
"""The hidden parts of a record that is hidden completely. A number hides all bytes that have no layout."""
_SECRET = frozenset({"key", "value", "records", "messages"})


class Line(Protocol):
    """A line of a capture (`source.kafka.captured`)."""

    @property
    def kind(self) -> str:
        """request, response, or what else it is."""

    @property
    def plain(self) -> Plain | None:
        """The frame where nothing in it is anomalous."""

    @property
    def frame(self) -> Frame | None:
        """The request or response, decoded in full."""

    @property
    def asked(self) -> Frame | None:
        """The request of a response."""

    @property
    def topics(self) -> list[str]:
        """The topics that it is about."""

    @property
    def asked_topics(self) -> list[str]:
        """The topics that the request of a response is about."""


class RecordRedaction:
    """The secrets in records of Kafka's own topics. Called with a payload, it gives the spans to hide by "key" and
    "value".
    """

    __slots__ = ("_catalog", "_last")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._last: tuple[Batch | None, bool] = (None, False)

    def __call__(self, payload: RecordPayload) -> Mapping[str, frozenset[int]]:
        """Return the numbers of the spans to redact in the "key" and the "value" of a payload."""
        return hidden_in_record(self._catalog, payload)

    def record(self, batch: Batch, payload: Payloads | None) -> tuple[Payloads | None, Mapping[str, frozenset[int]]]:
        """Return the payload of a record that may be shown, and the spans to redact in its "key" and "value".

        All of a record in a damaged batch of Kafka's own topics is hidden, "headers" among it: the bytes may be those
        of a secret, so that nothing may be decoded from them.
        """
        if self._is_damaged(batch) or (payload and payload.unknown_control and self.gap(batch.source.topic)):
            return None, _WHOLE
        if payload and payload.record and payload.record.secret:
            payload = replace(payload, record=payload.record.masked())
        return payload, self(payload.record) if payload and payload.record else {}

    def _is_damaged(self, batch: Batch) -> bool:
        """Return whether a batch of Kafka's own topics is damaged."""
        if not self.gap(batch.source.topic):
            return False
        if self._last[0] is not batch:
            self._last = batch, is_damaged(batch)
        return self._last[1]

    def gap(self, topic: str | None) -> bool:
        """Return whether unreadable bytes of a topic may be a secret: in Kafka's own topics, and in all topics if
        fields are redacted.
        """
        serdes = self._catalog.serdes
        return (topic is not None and is_internal(topic)) or (serdes is not None and serdes.redacts())

    def batch(self, batch: Batch) -> bool:
        """Return whether a record of a batch holds a secret; a damaged batch of Kafka's own topics is taken to."""
        if self._is_damaged(batch):
            return True
        from kwire_cli.records.batch import visible_payload  # noqa: PLC0415 - start-up counts, and few inputs hold batches

        return any(any(visible_payload(batch, record, self)[1].values()) for record in batch.records())

    def spans(self, tree: Tree) -> frozenset[int]:
        """Return the spans of a batch with secrets: all keys and values, and what could not be read; all records where
        a length is wrong.
        """
        items = [(path, item) for path, item in places(tree.root) if item.span >= 0 and item.whole]
        spans = {
            item.span
            for path, item in items
            if item.node.name in _SECRET or (not tree.spans.aligned and path.startswith(("records[", "[")))
        }
        return frozenset(spans | ({tree.gap.span} if tree.gap else set()))


def redacting(catalog: Catalog, frame: Frame, line: Line | None = None) -> Frame:
    """Return a frame whose `to_json` omits secrets, also in its header and body; `line` is its line of a capture."""

    def hides(raw_records: bool) -> Hidden:  # noqa: FBT001 - called with one thing
        redaction = Redaction(catalog, raw_records=raw_records)
        return redaction.line(line) if line else redaction.frame(frame)

    def part(name: str, body: Decoded | None) -> Decoded | None:
        part_hides = partial(_of_part, hides, name)
        return None if body is None else replace(body, hides=part_hides, reading=Redaction(catalog).reading())

    return replace(frame, header=part("header", frame.header), body=part("body", frame.body), hides=hides)


def _of_part(hides: Callable[[bool], Hidden], name: str, raw_records: bool) -> frozenset[int]:  # noqa: FBT001 - as above
    return hides(raw_records).get(name, frozenset())


def redacting_body(catalog: Catalog, body: Decoded) -> Decoded:
    """Return a message whose `to_json` leaves out secrets."""

    def hides(raw_records: bool) -> frozenset[int]:  # noqa: FBT001 - as above
        return Redaction(catalog, raw_records=raw_records).body(body)

    return replace(body, hides=hides, reading=Redaction(catalog).reading())


def note_of_guess(frame: Frame, hidden: Hidden) -> str | None:
    """Return a note on the hidden values of a guess, with the options that show them. None if all values are shown.

    Bytes after the message do not count as values.
    """
    gap = frame.body.tree.gap if frame.body else None
    rest = {gap.span} if gap else set()
    if not frame.guess or not hidden.get("body", frozenset()) - rest:
        return None
    options = f"--api {frame.api} --message-version {frame.api_version}"
    return f"values are hidden, as this may not be the message; {options} or --show-secrets shows them"


class Redaction:
    """The rules for hiding secrets, built once from the definitions and --show-secrets.

    `record` hides secrets in records of Kafka's own topics; None if everything is shown. `raw_records` is set if
    records are shown as bytes.
    """

    __slots__ = ("_harmless", "catalog", "raw_records", "record", "show_secrets")

    def __init__(self, catalog: Catalog, *, show_secrets: bool = False, raw_records: bool = False) -> None:
        self.catalog = catalog
        self.show_secrets = show_secrets
        self.raw_records = raw_records
        self.record = None if show_secrets else RecordRedaction(catalog)
        self._harmless: dict[Layout, bool] = {}

    def body(self, body: Body) -> frozenset[int]:
        """Return the spans of a message that are hidden."""
        if self.show_secrets:
            return frozenset()
        return hidden_spans(self.catalog, body, raw_records=self.raw_records) | self._records(body)

    @property
    def _hides_records(self) -> bool:
        """Return whether records are hidden as a whole: they are shown as bytes, and fields in them are redacted."""
        serdes = self.catalog.serdes
        return self.raw_records and not self.show_secrets and serdes is not None and serdes.redacts()

    def _records(self, body: Body | None) -> frozenset[int]:
        if body is None or not self._hides_records:
            return frozenset()
        return frozenset(at for at, _ in by_span(roles(body.spec, body.entry), body.raw))

    def frame(
        self, frame: Frame, *, known: bool = False, asked: Frame | None = None, topics: Sequence[str] = ()
    ) -> Hidden:
        """Return the hidden spans of a frame by part. `known`, `asked` and `topics` are as in
        `secrets.hidden_in_frame`.
        """
        if self.show_secrets:
            return {}
        if frame.kind == "unknown":
            return whole_frame_hidden(frame)
        hidden = hidden_in_frame(
            self.catalog, frame, known=known, asked=asked, topics=topics, raw_records=self.raw_records
        )
        records = self._records(frame.body)
        return {**hidden, "body": hidden.get("body", frozenset()) | records} if records else hidden

    def line(self, line: Line) -> Hidden:
        """Return the hidden spans of a line of a capture by part."""
        if self.show_secrets or self.none_in(line) or not line.frame:
            return {}
        known = line.kind == "request" or line.asked is not None
        return self.frame(line.frame, known=known, asked=line.asked, topics=line.asked_topics)

    def none_in(self, line: Line) -> bool:
        """Return whether a well-formed line certainly has nothing to hide."""
        plain = line.plain
        if self.show_secrets or plain is None:
            return plain is not None
        if self._hides_records:
            return False
        layout = plain.layout
        harmless = self._harmless.get(layout)
        if harmless is None:
            harmless = self._harmless[layout] = not can_hold_secrets(layout.message, raw_records=self.raw_records)
        if harmless:
            return True
        return not can_hold_secrets(layout.message, raw_records=self.raw_records and any(map(is_internal, line.topics)))

    def reading(self, names: Callable[[str], str] | None = None, **more: Any) -> RecordsAs:
        """Return how records are read, secrets hidden."""
        return RecordsAs(self.catalog, names, self.record, **more)
