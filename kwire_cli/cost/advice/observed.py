"""What values the fields of messages have: widths of integers, how often a field is at its default, how often a string repeats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.cost.advice.probes import INTEGER, SECTION, STRING, TAGGED, Probe, at_default, probes_of
from kwire_cli.cost.encoded_widths import width_of
from kwire_cli.structs.numbers import unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.catalog import Catalog

    Key = tuple[str, str]
    """The name of a message, and the path of a field in it as in a ledger: without indexes, the elements of an array with [] at the end."""

MOST_VALUES = 4096
"""Different values of one field that are kept as they are; then only their widths are."""
LONGEST = 64
"""Bytes of a string beyond which two are taken to be the same by their length and a hash."""
BLOCKS = 64
"""Parts into which the messages are divided, so that they can be halved although nobody knows beforehand how many there are."""


class Cell(NamedTuple):
    """Integers that are alike in all that counts: their bytes now, as zig-zag and as unsigned varint of the field's width.

    `taggable` says that the field stands in a structure with a tag section there, and could be in that.
    """

    taggable: bool
    now: int
    packed: int
    upacked: int
    negative: bool
    default: bool


@dataclass(slots=True)
class Field:
    """What was seen of one field. `cells` are for integers alone; the others have counts of where they could be tagged, and of where they are.

    `total` are the times it could be tagged, `defaults` those at its default, `default_bytes` what these take, `headers` the bytes of the tags and
    sizes that the rest would need. Of a field that is tagged, `total` are the structures, `present` those that have it, `headers` the bytes of its
    tags and sizes, and `default_bytes` what it would take in the others if it were no tagged field.
    """

    kind: str
    cells: Counter[Cell] = field(default_factory=Counter)
    total: int = 0
    defaults: int = 0
    default_bytes: int = 0
    headers: int = 0
    present: int = 0

    def add(self, other: Field) -> None:
        """Count what was seen elsewhere."""
        self.cells.update(other.cells)
        for name in ("total", "defaults", "default_bytes", "headers", "present"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def count(self) -> int:
        """How many integers there were."""
        return sum(self.cells.values())


@dataclass(slots=True)
class Texts:
    """The strings of one field: how many, their bytes, and how often each came, for as many different ones as are kept."""

    count: int = 0
    size: int = 0
    known: Counter[bytes] = field(default_factory=Counter)
    sizes: dict[bytes, int] = field(default_factory=dict)

    def add(self, data: bytes) -> None:
        """Count one."""
        self.count += 1
        self.size += len(data)
        key = data if len(data) <= LONGEST else _digest(data)
        if key in self.known or len(self.known) < MOST_VALUES:
            self.known[key] += 1
            self.sizes[key] = len(data)

    @property
    def repeated(self) -> int:
        """Bytes of those that had come before; of strings that are not kept none are counted."""
        return sum((times - 1) * self.sizes[key] for key, times in self.known.items())


Fields = dict["Key", Field]


class Observed:
    """What was seen of all messages so far. Memory is bounded by the fields of the definitions, not by the messages."""

    def __init__(self, catalog: Catalog) -> None:
        self.messages = self.irregular = self.size = 0
        self.texts: dict[Key, Texts] = {}
        self._catalog = catalog
        self._probes: dict[int, tuple[Entry, str, dict[int, Probe]]] = {}
        self._blocks: list[tuple[int, Fields]] = []
        self._block, self._in_block = 1, 0
        self._fields: Fields = {}

    def add(self, message: Message) -> None:
        """Look at the values of a message."""
        self.messages += 1
        self.size += message.size
        if message.regular:
            self._look(message)
        else:
            self.irregular += 1
        self._in_block += 1
        if self._in_block >= self._block:
            self._close()

    def _look(self, message: Message) -> None:
        known = self._probes.get(id(message.entry))
        if known is None:
            probes = probes_of(self._catalog.message(message.name), message.entry)
            known = self._probes[id(message.entry)] = message.entry, message.name, probes  # the entry is kept, so that its id stays its own
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
            self.texts.setdefault((message.name, probe.path), Texts()).add(bytes(data[value:end]))
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

    def _settled(self) -> Fields:
        for _, name, probes in self._probes.values():
            for probe in probes.values():
                if probe.values:
                    self._settle(name, probe)
        return self._fields

    def _close(self) -> None:
        if self._in_block:
            self._blocks.append((self._in_block, self._settled()))
            self._fields, self._in_block = {}, 0
        if len(self._blocks) > BLOCKS:
            pairs = zip(self._blocks[::2], [*self._blocks[1::2], (0, {})], strict=False)
            self._blocks = [(a + b, together([first, second])) for (a, first), (b, second) in pairs]
            self._block *= 2

    def fields(self) -> Fields:
        """What was seen of each field, in all messages."""
        self._close()
        return together([fields for _, fields in self._blocks])

    def halves(self) -> Halves:
        """About the first half of the messages, and the rest."""
        self._close()
        taken = parts = 0
        for count, _ in self._blocks:
            if parts and abs(2 * (taken + count) - self.messages) > abs(2 * taken - self.messages):
                break
            taken += count
            parts += 1
        return Halves(taken, together([fields for _, fields in self._blocks[:parts]]), together([fields for _, fields in self._blocks[parts:]]))


class Halves(NamedTuple):
    """How many messages the first half has, and what was seen in it and in the rest."""

    messages: int
    first: Fields
    second: Fields


def together(parts: Sequence[Fields]) -> Fields:
    """What was seen in several parts."""
    out: Fields = {}
    for part in parts:
        for key, found in part.items():
            out.setdefault(key, Field(found.kind)).add(found)
    return out


def _header(size: int) -> int:
    """The bytes before a tagged field: a tag of one byte, and its size."""
    return 1 + len(unsigned_varint(size))


def _digest(data: bytes) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 - long strings are rare

    return len(data).to_bytes(8, "big") + blake2b(data, digest_size=24).digest()
