"""Fields of messages with replaced values, and the messages inside fields.

The output is blank at first, and each span copies or replaces its part. Bytes that could not be decoded therefore stay
blank.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies
from kwire_cli.message.roles import error_codes, role_values, roles, top_value
from kwire_cli.records.compression import decompress
from kwire_cli.records.payload_fields import ADDRESS, TELEMETRY as METRICS, holds_payloads, payloads_of
from kwire_cli.records.telemetry import LIMITS
from kwire_cli.sanitize.replacing import BEYOND, NOTHING, SOFTWARE, TOKEN, Addresses, fillings, fitted, stays
from kwire_cli.structs.messages import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire_cli.engine.spans import Spans
    from kwire_cli.engine.values import Body
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.sanitize.replacing import Replacement
    from kwire_cli.spec.catalog import Catalog

    Inner = dict[int, bytes]
    """The replacements of values, by the offset of the value in its data."""


# Metrics of clients (KIP-714): compressed protobuf. It is replaced by a message of the same size without
# metrics, which can still be read.

_FIELD = 15 << 3 | 2
"""The key of a bytes field that MetricsData does not have, so that readers skip it."""


def blank_metrics(codec: int, data: bytes) -> bytes | None:
    """Return blank metrics of the same codec and sizes as `data`, or None if no metrics have these sizes."""
    unpacked = decompress(codec, data, LIMITS)
    if unpacked.code:
        return None
    message = _message(len(unpacked.data))
    if message is None:
        return None
    return fitted(codec, message, data) if codec else message


def _message(size: int) -> bytes | None:
    """Return a message of one field, of `size` bytes, or None if no message is that short."""
    if not size:
        return b""
    for width in range(1, 6):
        length = size - 1 - width
        if 0 <= length < 1 << 7 * width:
            # The length may take more bytes than it needs.
            digits = [(length >> 7 * i & 0x7F) | (0x80 if i < width - 1 else 0) for i in range(width)]
            return bytes((_FIELD, *digits)) + b"x" * length
    return None


# The fields of a decoded message: numbers are kept, strings, bytes and ids are replaced, unknown bytes become blank.

NUMBERS = frozenset(
    (
        "int8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "float64",
        "bool",
        "count",
        "presence",
        "tag-count",
        "tag-header",
        "size",
    )
)
"""Kinds of spans that are not changed."""


_NO_PAYLOADS: Mapping[str, Payload] = {}
_SCHEMA_VERSION_SIZE = fixed(SCHEMA_VERSION).size


class Fields:
    """Replaces values; `counts` has the number of parts that could not be kept, by kind."""

    def __init__(self, catalog: Catalog, replacement: Replacement) -> None:
        self.catalog = catalog
        self.replacement = replacement
        self.addresses = Addresses(replacement)
        self.counts: Counter[str] = Counter()

    def count(self, what: str, number: int) -> None:
        """Count parts that could not be kept."""
        self.counts[what] += number

    def rewritten(
        self, spans: Spans, *, message: str = "", inner: Mapping[int, bytes] | None = None, different: int = TOKEN
    ) -> bytes:
        """Return the rewritten bytes of all spans. `inner` has replacements that are already known."""
        out = bytearray(spans.stop)
        data = bytes(spans.data[: spans.stop])
        leaves = spans.program.leaves
        at = spans.start
        letters = self.replacement.letters
        text = self.replacement.text
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            leaf = leaves[node]
            kind = leaf.kind
            if kind in NUMBERS:
                out[at:end] = data[at:end]
            elif kind != "gap":
                out[at:value] = data[at:value]
                original = data[value:end]
                substitute = inner.get(value) if inner else None
                if substitute is not None and len(substitute) == len(original):
                    out[value:end] = substitute
                elif kind == "string":
                    if different < TOKEN:
                        out[value:end] = letters(original, different=different)
                    else:
                        out[value:end] = original if stays(message, leaf.path, original) else text(original)
                elif kind == "uuid":
                    out[value:end] = self.replacement.uuid(original)
                elif original:
                    out[value:end] = letters(original, different=different)
            at = end
        return bytes(out[spans.start :])

    def body(self, body: Body, records: Callable[[Body], Inner] | None = None) -> bytes:
        """Return a message with the messages in its fields and the record sets of `records`; the rest is blank."""
        found = payloads_of(self.catalog, body.spec, body.version, body.tree) if holds_payloads(body.message) else ()
        payloads = {} if body.guess else {payload.path: payload for payload in found}
        return self._with_payloads(body, payloads, "", records(body) if records else {})

    def _with_payloads(self, body: Body, payloads: Mapping[str, Payload], prefix: str, inner: Inner) -> bytes:
        """Rewrite a message. `payloads` has the messages in its fields by `prefix` and the path of the field."""
        if payloads:
            for span in body.spans:
                payload = payloads.get(prefix + span.path)
                if payload and span.value < span.end:
                    inner[span.value] = self._metrics(body, payload) or self.payload(payload, payloads)
        certain = body.message in SOFTWARE and not body.guess and not body.anomalies
        return self.rewritten(body.raw, message=body.message if certain else "", inner=inner)

    def _metrics(self, body: Body, payload: Payload) -> bytes | None:
        """Return blank metrics for metrics. Return None for other payloads, and if no metrics fit."""
        if payload.type != METRICS:
            return None
        codec = top_value(roles(body.spec, body.entry), body.raw, "compressionType")
        return blank_metrics(codec, bytes(payload.data)) if isinstance(codec, int) else None

    def payload(self, payload: Payload, payloads: Mapping[str, Payload] = _NO_PAYLOADS) -> bytes:
        """Return the replacement of a field or record that may contain a message, with the messages inside it.

        A truncated message keeps its version, and decoding it reports the same anomalies.
        """
        data = bytes(payload.data)
        if payload.type == ADDRESS:
            return self.addresses.ip(data)
        body = payload.body
        letters = self.replacement.letters(data)
        if body is None:
            return letters
        if body.complete:
            inside = self._with_payloads(body, payloads, f"{payload.path}.", {}) if payloads else self.body(body)
            return data[: body.start] + inside
        version = _version(body)
        return version[: body.start] + filled(body, version[body.start :], letters)


def _version(body: Body) -> bytes:
    """Return the version at the start of a payload, or an equally unknown one; empty if its bytes do not contain it."""
    size = body.start or _SCHEMA_VERSION_SIZE
    number = body.version.to_bytes(size, "big", signed=True)
    if bytes(body.data[:size]) != number:
        return b""
    return (NOTHING if body.version < 0 else BEYOND[:1]) * size if body.guess else number


def filled(body: Body, start: bytes, *preferred: bytes) -> bytes:
    """Return bytes for a message: `start`, and the filling that decodes most similarly to the original.

    The same anomalies at the same field are best, then the same anomalies, then the same last anomaly, at which
    decoding stopped. No filling adds an error code. `preferred` are tried first.
    """
    size = body.stop - body.start - len(start)
    read = body.raw.used - body.start
    if len(start) >= read and body.raw.lost < 0:
        return start.ljust(body.stop - body.start, b"\0")
    wanted = [note.code for note in anomalies(body.tree)]
    errors = _errors(body, body.raw)

    def distance(made: bytes) -> int:
        spans = walk(body.entry, made)
        codes = [note.code for note in anomalies(build(body.entry, spans))]
        if not errors.issuperset(_errors(body, spans)):
            return 5
        if codes == wanted:
            return 0 if len(start) < read or [*spans.node] == [*body.raw.node] else 1
        if codes[-1:] == wanted[-1:]:
            return 2 if len(codes) == 1 else 3
        return 4

    best = b""
    nearest = 6
    for filling in (*(each[len(each) - size :] for each in preferred), *fillings(size)):
        made = start + filling
        if (found := distance(made)) < nearest:
            best = made
            nearest = found
        if nearest == 0:
            break
    return best


def _errors(body: Body, spans: Spans) -> set[int]:
    return {*error_codes(role_values(roles(body.spec, body.entry), spans))}
