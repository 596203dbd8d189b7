"""A decoded message: what `kwire_cli.decode` returns. All of it is a fold over the spans of one run of the kernel, made when first asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.body import Body
from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk, without_rest
from kwire_cli.engine.values import Form
from kwire_cli.errors import DecodeError, InputError
from kwire_cli.message.record_fields import RAW, RecordsAs, filled
from kwire_cli.message.record_sets import cut_record_set
from kwire_cli.message.roles import roles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

RECORD_FORMS = ("decoded", "size", "base64")


@dataclass(frozen=True, repr=False)
class Decoded(Body):
    """A message as `kwire_cli.decode` gives it: its value, spans and anomalies.

    `value`, `spans` and `data` are what is on the wire, secrets too; `to_json` leaves out the secrets that `hides` finds, where records are shown as
    bytes and where they are not. `reading` is how `to_json` reads records unless it is told.
    """

    hides: Callable[[bool], frozenset[int]] | None = field(default=None, compare=False)
    reading: RecordsAs | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<{self.message} version {self.version}, {self.size} bytes, {len(self.anomalies)} anomalies>"

    @property
    def size(self) -> int:
        """The number of bytes that the message's fields take; what is left over is a gap."""
        return self.raw.used - self.raw.start

    @cached_property
    def value(self) -> dict[str, Any]:
        """The message in Kafka's JSON form, records as base64 text, secrets as they are on the wire."""
        return self.form(Form("base64"))

    def to_json(
        self, *, records: str = "base64", lossless: bool = False, hidden: frozenset[int] | None = None, reading: RecordsAs | None = None
    ) -> dict[str, Any]:
        """The message in Kafka's JSON form.

        `records` is "base64", "size" for {name}SizeInBytes as in a broker's request log, or "decoded" for batches with records, as `reading` says.
        `lossless` adds what that form can't carry under "_lossless", so that encode gives the very same bytes. `hidden` are the numbers of
        the spans to redact; without them it is what `hides` finds.
        """
        if records not in RECORD_FORMS:
            raise InputError(f"records={records!r}: records are shown as {', '.join(RECORD_FORMS[:-1])} or {RECORD_FORMS[-1]}")
        if hidden is None:
            hidden = self.hides(records == "base64") if self.hides else frozenset()
        if lossless and (records != "base64" or hidden):
            raise InputError("the lossless form keeps all bytes: records as base64, nothing redacted")
        shown = self.form(Form(RAW if records == "decoded" else records, hidden))
        if records == "decoded":
            reading = reading or self.reading or RecordsAs()
            shown = filled(roles(self.spec, self.entry), shown, reading)
            if self.raw.lost >= 0 and len(self.raw.node) - 1 not in hidden:
                self._fill_cut(shown, reading)
        if lossless:
            from kwire_cli.message.lossless import KEY, patches  # noqa: PLC0415 - it encodes, which decoding alone need not load

            if found := patches(self):
                shown[KEY] = found
        return shown

    def _fill_cut(self, shown: dict[str, Any], reading: RecordsAs) -> None:
        """Put what can be read of a record set that the end of the bytes cuts where it belongs."""
        cut = cut_record_set(roles(self.spec, self.entry), self.raw)
        if cut is None:
            return
        *above, name = self.raw.program.leaves[self.raw.lost].path.split(".")
        for step in above:
            inner = shown.get(step.removesuffix("[]"))
            shown = (inner[-1] if inner else {}) if isinstance(inner, list) else inner or {}
        items = [item.to_json(deep=True, hide=reading.hide) for item in reading.items(bytes(self.raw.data[cut.start : cut.stop]), cut.topic or None)]
        if any("gap" not in item or "batch" in item for item in items):
            shown[name] = items


def as_bytes(data: Any) -> Any:
    """`data` as bytes or a flat memoryview of bytes, not copied; InputError where it is no such thing."""
    if isinstance(data, bytes):
        return data
    try:
        return memoryview(data).cast("B")
    except TypeError as error:
        raise InputError(f"decoding takes bytes, bytearray or a contiguous memoryview: {error}") from None


def decode(catalog: Catalog, data: Any, message: str, version: int, *, start: int = 0, stop: int | None = None) -> Decoded:
    """Decode the bytes [start, stop) as a message's body. Lenient: what Kafka's readers accept is accepted and reported as an anomaly.

    InputError for a message that no definition has, or data that is no bytes.
    """
    spec = catalog.message(message)
    notes: list[Anomaly] = []
    if catalog.ambiguous(message, version):
        notes.append(Anomaly("LAYOUT_AMBIGUOUS", "", start, f"{spec.name} {version} differs between Kafka releases: {MEANING['LAYOUT_AMBIGUOUS']}"))
    return decode_spec(spec, data, version, start=start, stop=stop, notes=notes)


def decode_spec(
    spec: MessageSpec, data: Any, version: int, *, start: int = 0, stop: int | None = None, notes: Sequence[Anomaly] = (), alone: bool = True
) -> Decoded:
    """As `decode`, with the definition itself; `notes` are known beforehand. Unless it stands `alone`, something else may follow."""
    valid = spec.valid_versions
    if not valid:
        raise InputError(f"{spec.name} is reserved: no version of it is valid")
    layout = min(max(version, valid.low), valid.high)
    data = as_bytes(data)
    if layout != version:
        detail = f"{spec.name} has versions {valid}; {version} was decoded by the layout of {layout}"
        notes = [*notes, Anomaly("UNKNOWN_VERSION", "", start, detail)]
    entry = entry_for(spec, layout)
    spans = walk(entry, data, start, len(data) if stop is None else stop)
    spans = spans if alone else without_rest(spans)
    return Decoded(spec, version, layout, entry, spans, tuple(notes), layout != version)


def checked(decoded: Decoded, *, strict: bool = False) -> Decoded:
    """The same, or DecodeError where nothing could be decoded, and with `strict` for any anomaly; its `partial` is the result."""
    if not decoded.complete and len(decoded.raw.node) <= 1:
        size = decoded.stop - decoded.start
        reason = f"nothing of {decoded.message} {decoded.layout_version} in {size} byte{'' if size == 1 else 's'}"
        raise DecodeError(reason, offset=decoded.start, partial=decoded)
    if strict and decoded.anomalies:
        first = decoded.anomalies[0]
        raise DecodeError(f"{first.code}: {first.detail}", offset=first.offset, path=first.path or None, partial=decoded)
    return decoded
