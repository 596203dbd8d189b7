"""The fields of anything that was decoded: numbers stay, texts, bytes and ids are replaced, and what is not known says nothing any more.

A fold over spans: what is written is nothing at first, and each span adds what may be seen of it. So whatever could not be decoded is blank.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.message.roles import roles, top_value
from kwire_cli.payload.fields import ADDRESS, TELEMETRY as METRICS, holds_payloads, payloads_of
from kwire_cli.sanitize.addresses import Addresses
from kwire_cli.sanitize.harmless import SOFTWARE, stays
from kwire_cli.sanitize.replacing import TOKEN
from kwire_cli.sanitize.telemetry import blank_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire_cli.engine.body import Body
    from kwire_cli.engine.spans import Spans
    from kwire_cli.payload.model import Payload
    from kwire_cli.sanitize.replacing import Replacement
    from kwire_cli.spec.catalog import Catalog

    Inner = dict[int, bytes]
    """What stands in place of a value, by where that begins in its data."""

NUMBERS = frozenset(
    ("int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "bool", "count", "presence", "tag-count", "tag-header", "size")
)
"""Kinds of spans that stay as they are."""


class Fields:
    """Replaces values; `counts` says how much of what could not be kept."""

    def __init__(self, catalog: Catalog, replacement: Replacement) -> None:
        self.catalog, self.replacement = catalog, replacement
        self.addresses = Addresses(replacement)
        self.counts: Counter[str] = Counter()

    def count(self, what: str, number: int) -> None:
        """So many of something could not be kept."""
        self.counts[what] += number

    def rewritten(self, spans: Spans, *, message: str = "", inner: Mapping[int, bytes] | None = None, different: int = TOKEN) -> bytes:
        """The bytes from the first span on to the end of the last one. `inner` are values that are known already."""
        out = bytearray(spans.stop)
        data, leaves, at = bytes(spans.data[: spans.stop]), spans.program.leaves, spans.start
        letters, text = self.replacement.letters, self.replacement.text
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            leaf = leaves[node]
            kind = leaf.kind
            if kind in NUMBERS:
                out[at:end] = data[at:end]
            elif kind != "gap":
                out[at:value] = data[at:value]
                found, known = data[value:end], inner.get(value) if inner else None
                if known is not None and len(known) == len(found):
                    out[value:end] = known
                elif kind == "string":
                    if different < TOKEN:
                        out[value:end] = letters(found, different=different)
                    else:
                        out[value:end] = found if stays(message, leaf.path, found) else text(found)
                elif kind == "uuid":
                    out[value:end] = self.replacement.uuid(found)
                elif found:
                    out[value:end] = letters(found, different=different)
            at = end
        return bytes(out[spans.start :])

    def body(self, body: Body, records: Callable[[Body], Inner] | None = None) -> bytes:
        """A message with the messages in its fields, and with record sets that `records` gives; bytes behind it are blank."""
        inner: Inner = records(body) if records else {}
        if holds_payloads(body.message) and not body.guess:
            found = {payload.path: payload for payload in payloads_of(self.catalog, body.spec, body.version, body.tree)}
            for span in body.spans:
                if span.path in found and span.value < span.end:
                    inner[span.value] = self._metrics(body, found[span.path]) or self.payload(found[span.path])
        certain = body.message in SOFTWARE and not body.guess and not body.anomalies
        return self.rewritten(body.raw, message=body.message if certain else "", inner=inner)

    def _metrics(self, body: Body, payload: Payload) -> bytes | None:
        """Metrics that say nothing in the place of others; None for any other payload, and where that can't be done."""
        if payload.type != METRICS:
            return None
        codec = top_value(roles(body.spec, body.entry), body.raw, "compressionType")
        return blank_metrics(codec, bytes(payload.data)) if isinstance(codec, int) else None

    def payload(self, payload: Payload) -> bytes:
        """Bytes of a field or record that may be a message of their own."""
        data = bytes(payload.data)
        if payload.type == ADDRESS:
            return self.addresses.ip(data)
        body = payload.body
        if body is None or not (body.exact or (body.complete and not body.guess and not payload.guess)):
            return self.replacement.letters(data)
        return data[: body.start] + self.body(body)
