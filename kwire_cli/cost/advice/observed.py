"""What values the fields of messages have: widths of integers, how often a field is at its default, how often a string repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.advice.probes import INTEGER, SECTION, STRING, TAGGED, Probe, at_default, probes_of
from kwire_cli.cost.advice.seen import Cell, Field, Seen, Texts
from kwire_cli.cost.encoded_widths import width_of
from kwire_cli.structs.numbers import unsigned_varint

if TYPE_CHECKING:
    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.cost.advice.seen import Fields
    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.catalog import Catalog

MOST_VALUES = 4096
"""Different values of one field that are kept as they are; then only their widths are."""


class Observed:
    """Looks at messages. Memory is bounded by the fields of the definitions, not by the messages."""

    def __init__(self, catalog: Catalog) -> None:
        self._seen = Seen()
        self._catalog = catalog
        self._probes: dict[int, tuple[Entry, str, dict[int, Probe]]] = {}
        self._looked: set[int] = set()
        self._block, self._at, self._in_block = -1, 0, 0
        self._fields: Fields = {}

    def add(self, message: Message) -> None:
        """Look at the values of a message."""
        seen = self._seen
        if message.at >> seen.shift != self._block:
            self._close()
            self._block, self._at = message.at >> seen.shift, message.at
        seen.messages += 1
        seen.size += message.size
        if message.regular:
            self._look(message)
        else:
            seen.irregular += 1
        self._in_block += 1

    def seen(self) -> Seen:
        """What was seen so far."""
        self._close()
        return self._seen

    def _look(self, message: Message) -> None:
        known = self._probes.get(id(message.entry))
        if known is None:
            probes = probes_of(self._catalog.message(message.name), message.entry)
            known = self._probes[id(message.entry)] = message.entry, message.name, probes  # the entry is kept, so that its id stays its own
        self._looked.add(id(message.entry))
        probes, spans = known[2], message.spans
        data, start = spans.data, spans.start
        for at, (node, value, end) in enumerate(zip(spans.node, spans.value, spans.end, strict=True)):
            probe = probes.get(node)
            if probe is not None:
                if probe.form == INTEGER:
                    raw = bytes(data[start:end])
                    probe.values[raw] += 1
                    if len(probe.values) > MOST_VALUES:
                        self._settle(message.name, probe)
                else:
                    self._other(message, probe, at, start, value, end)
            start = end

    def _other(self, message: Message, probe: Probe, at: int, start: int, value: int, end: int) -> None:
        if probe.form == SECTION:
            for each in probe.tagged:
                found = self._field(message, each.path, each.kind)
                found.total += 1
                found.default_bytes += each.size
            return
        data = message.spans.data
        if probe.form == STRING:
            self._seen.texts.setdefault((message.name, probe.path), Texts()).add(bytes(data[value:end]))
        if probe.default is None:
            return
        found = self._field(message, probe.path, probe.kind)
        if probe.form == TAGGED:
            found.present += 1
            found.headers += end - start
            found.default_bytes -= len(probe.default)
            return
        found.total += 1
        if at_default(probe.decl, data[start:end], probe.default):
            found.defaults += 1
            found.default_bytes += end - start
        else:
            found.headers += _header(probe.end_of(message.spans, at) - start)

    def _field(self, message: Message, path: str, kind: str) -> Field:
        key = (message.name, path)
        found = self._fields.get(key)
        if found is None:
            found = self._fields[key] = Field(kind)
        return found

    def _settle(self, name: str, probe: Probe) -> None:
        """Keep of an integer's values only how wide they are."""
        found = self._fields.setdefault((name, probe.path), Field(probe.kind))
        read, (packed, upacked) = probe.decl.read, (width_of(probe.kind, f"{name}{probe.kind[3:]}") for name in ("packed", "upacked"))
        for raw, times in probe.values.items():
            number = read(raw)
            cell = Cell(probe.default is not None, len(raw), packed(number), upacked(number), number < 0, raw == probe.default)
            found.cells[cell] += times
        probe.values.clear()

    def _close(self) -> None:
        """What was seen since this was done last goes to its block."""
        for entry in self._looked:
            _, name, probes = self._probes[entry]
            for probe in probes.values():
                if probe.values:
                    self._settle(name, probe)
        self._looked.clear()
        if self._in_block:
            self._seen.add(self._at, self._in_block, self._fields)
            self._fields, self._in_block, self._block = {}, 0, -1


def _header(size: int) -> int:
    """The bytes before a tagged field: a tag of one byte, and its size."""
    return 1 + len(unsigned_varint(size))
