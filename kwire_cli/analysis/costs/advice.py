"""Advice: the encodings and tags that would have saved bytes in real messages.

The messages are written in the forms of `registry.advice_forms`: all integers in each encoding, all fields tagged that
can be, both, and no field tagged. `fields_of` adds up the bytes of each field in each form, and `choose` selects the
smallest form of each field. The choices are an overlay. A tag can lengthen the size of the struct around it, so the
saving of the overlay is not the sum of these differences: the messages are written once more, under the overlay.

Advice that fits its own input proves little. So the first half of the messages gets a plan too, which is tried on the
other half. The messages are in a temporary file meanwhile, since they are written twice.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field as dataclass_field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.message_file import MessageFile
from kwire_cli.analysis.costs.messages import is_regular, values_of
from kwire_cli.analysis.costs.prices import by_leaf, price
from kwire_cli.analysis.costs.registry import GIVEN, UNTAGGED, VARIANTS, advice_forms, next_tags, taggable
from kwire_cli.engine.spans import walk
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import read_overlay
from kwire_cli.spec.reading import ENCODABLE_TYPES
from kwire_cli.structs.numbers import Varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.messages import Message
    from kwire_cli.analysis.costs.registry import Variant
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.ledger import Row
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.evolution.layout import Wire
    from kwire_cli.spec.model import MessageSpec

Key = tuple[str, str]
"""The name of a message, and the path of a field as in a ledger: the elements of an array of integers end in []."""
NEARLY_ALWAYS = 0.9
"""The share of values at their default from which on a tag is proposed."""
MOST_TEXTS = 4096
"""The largest number of different strings of a field that are counted separately."""


# Messages in every form.


Texts = Counter[tuple[bytes, int]]
"""The strings of one field by hash and size; the hash is empty beyond the first MOST_TEXTS different ones."""


@dataclass(slots=True)
class Written:
    """Messages in every form of advice: the bytes of fields by (message, version, form), strings by field, and by
    (message, path, encoding) the widths of integers, each with whether they are negative.
    """

    ledger: Ledger = dataclass_field(default_factory=Ledger)
    texts: dict[Key, Texts] = dataclass_field(default_factory=dict)
    widths: dict[tuple[str, str, str], Counter[tuple[int, bool]]] = dataclass_field(default_factory=dict)

    def add(self, message: str, form: Form, spans: Spans, times: int) -> None:
        """Count a message in a form."""
        self.ledger.add_spans((message, form.version, form.name), "", by_leaf, spans, times)
        if form.name not in {GIVEN, "packed", "upacked"}:
            return
        data = spans.data
        start = spans.start
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            leaf = spans.program.leaves[node]
            if form.name == GIVEN:
                if leaf.kind == "string":
                    texts = self.texts.setdefault((message, leaf.path), Texts())
                    text = blake2b(data[value:end], digest_size=16).digest(), end - value
                    texts[text if text in texts or len(texts) < MOST_TEXTS else (b"", end - value)] += times
            elif isinstance(leaf.decl, Varint) and leaf.kind in ENCODABLE_TYPES:
                cells = self.widths.setdefault((message, leaf.path, form.name), Counter())
                cells[end - start, leaf.decl.read(data[start:end]) < 0] += times
            start = end

    def merge(self, other: Written) -> None:
        """Count other messages too."""
        self.ledger.merge(other.ledger)
        for key, texts in other.texts.items():
            self.texts.setdefault(key, Texts()).update(texts)
        for place, cells in other.widths.items():
            self.widths.setdefault(place, Counter()).update(cells)

    def negative_share(self, keys: Sequence[Key]) -> float:
        """Return the share of negative values among the integers of some fields."""
        cells = Counter[bool]()
        for message, path in keys:
            for (_, negative), times in self.widths.get((message, path, "packed"), {}).items():
                cells[negative] += times
        return cells[True] / cells.total() if cells else 0.0


@dataclass(slots=True)
class Field:
    """A field of a message: its values, and its bytes by form, without and with the bytes of its tags.

    `taggable` counts the values that could be tagged, `at_default` the values among them that a tag would omit. Of a
    tagged field, `present` counts the structures that have it, of `structures`.
    """

    kind: str
    count: int = 0
    sizes: Counter[str] = dataclass_field(default_factory=Counter)
    with_tags: Counter[str] = dataclass_field(default_factory=Counter)
    taggable: int = 0
    at_default: int = 0
    present: int = 0
    structures: int = 0

    def saving(self, form: str) -> int:
        """Return the bytes that the field loses in a form."""
        return self.with_tags[GIVEN] - self.with_tags[form]

    @property
    def default_share(self) -> float:
        """Return the share of default values among those that could be tagged."""
        return self.at_default / self.taggable if self.taggable else 0.0

    @property
    def best(self) -> str:
        """Return the form of the fewest bytes; of equal ones the one that changes less."""
        forms = [
            name
            for name, variant in VARIANTS.items()
            if (self.kind in ENCODABLE_TYPES or not variant.encoding)
            and (self.default_share >= NEARLY_ALWAYS or not variant.tagged)
        ]
        return max((GIVEN, *forms), key=self.saving)


def fields_of(catalog: Catalog, written: Written) -> dict[Key, Field]:
    """Return the fields of all messages with their bytes in each form."""
    by_layout: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for row in written.ledger.rows():
        by_layout.setdefault(row.owner[:2], {}).setdefault(row.path, []).append(row)
    fields: dict[Key, Field] = {}
    for (message, version), rows in by_layout.items():
        spec = catalog.message(message)
        flexible = version in spec.flexible_versions
        can_be_tagged = taggable(spec) if flexible else ()
        for path, field in fields_by_path(spec):
            if f"{path}[]" in rows and field.element_type in ENCODABLE_TYPES:
                _add(fields, (message, f"{path}[]"), field.element_type, rows[f"{path}[]"])
            if path not in rows:
                continue
            counts = _add(fields, (message, path), field.type, rows[path])
            found = fields[message, path]
            if path in can_be_tagged:
                found.taggable += counts[GIVEN]
                found.at_default += counts[GIVEN] - counts["tagged"]
            elif flexible and field.tag is not None and version in field.tagged_versions:
                found.present += sum(row.count for row in rows[path] if row.owner[2] == GIVEN and _is_tag(row))
                found.structures += counts[UNTAGGED]
                if (
                    field.struct_name and not counts[UNTAGGED]
                ):  # it cannot be null: all its bytes are those of its fields
                    inner = [row for name, some in rows.items() if name.startswith(f"{path}.") for row in some]
                    found.structures += next((row.count for row in inner if row.owner[2] == UNTAGGED), 0)
                    for row in inner:
                        found.with_tags[row.owner[2]] += row.prefix_bytes + row.value_bytes
    return fields


def _add(fields: dict[Key, Field], key: Key, kind: str, rows: list[Row]) -> Counter[str]:
    """Add the bytes of a field, and return how many values there are in each form."""
    found = fields.setdefault(key, Field(kind))
    counts = Counter[str]()
    for row in rows:
        size = row.prefix_bytes + row.value_bytes
        form = row.owner[2]
        found.with_tags[form] += size
        if not _is_tag(row):
            found.sizes[form] += size
            counts[form] += row.count
    found.count += counts[GIVEN]
    return counts


def _is_tag(row: Row) -> bool:
    return row.kinds is not None and row.kinds[0] == "tag-header"


# The changes that save bytes, and their overlay.

Layers = dict[str, dict[str, dict[str, Any]]]
"""The messages of an overlay: the keys of fields by path, under `fields`."""


def choose(catalog: Catalog, fields: Mapping[Key, Field], *, least: int = 1) -> Layers:
    """Return the changes to fields that would each have saved at least `least` bytes."""
    chosen: dict[str, dict[str, Variant]] = {}
    for (message, path), field in fields.items():
        form = field.best
        if field.saving(form) >= least:
            chosen.setdefault(message, {})[path] = VARIANTS[form]
    return {message: {"fields": _changes(catalog.message(message), chosen[message])} for message in sorted(chosen)}


def _changes(spec: MessageSpec, variants: Mapping[str, Variant]) -> dict[str, Any]:
    tags = next_tags(spec, [path for path, variant in variants.items() if variant.tagged])
    changes: dict[str, Any] = {}
    for path, field in fields_by_path(spec):
        for name, key in ((path, "encoding"), (f"{path}[]", "elementEncoding")):
            if name in variants and (encoding := variants[name].encoding):
                changes.setdefault(path, {})[key] = f"{encoding}{field.element_type.removeprefix('int')}"
        if path in tags:
            versions = str(field.versions & spec.flexible_versions)
            changes.setdefault(path, {}).update({"tag": tags[path], "taggedVersions": versions})
    return changes


def overlay_text(about: str, layers: Layers) -> str:
    """Return an overlay as the text of its file, a field a line."""
    blocks = []
    for name, layer in layers.items():
        rows = ",\n".join(f"        {json.dumps(path)}: {json.dumps(keys)}" for path, keys in layer["fields"].items())
        blocks.append(f'    {json.dumps(name)}: {{\n      "fields": {{\n{rows}\n      }}\n    }}')
    inner = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "about": {json.dumps(about, ensure_ascii=False)},\n  "messages": {inner}\n}}\n'


# Advice on the messages of some inputs.


class Split(NamedTuple):
    """Advice from the first messages, tried on the others: their number and bytes, and the bytes saved of them.

    The shares are the parts of negative values among the integers that the advice encodes, in the first messages and
    in the others.
    """

    drawn_from: int
    messages: int
    bytes: int
    saved: int
    negative_before: float
    negative_after: float


class Advice(NamedTuple):
    """Advice on messages. They lose `saved` bytes under the overlay with these `layers`."""

    messages: int
    size: int
    irregular: int
    written: Written
    fields: Mapping[Key, Field]
    layers: Layers
    saved: int
    split: Split | None

    @property
    def changed_fields(self) -> int:
        """Return the number of fields that the overlay changes."""
        return sum(len(layer["fields"]) for layer in self.layers.values())

    @property
    def overlay(self) -> str:
        """Return the text of the overlay."""
        what = f"{self.messages} messages of {self.size} bytes, of which it saves {self.saved}"
        return overlay_text(f"Drawn by kwire compare --advise from {what}.", self.layers)


class Advising:
    """The messages from which advice is drawn.

    Messages that were not read whole, and those with anomalies, stay as they are.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._file = MessageFile()
        self._forms: dict[tuple[str, int], list[tuple[Form, Wire]]] = {}
        self.messages = self.size = self.irregular = 0

    def close(self) -> None:
        """Remove the messages."""
        self._file.close()

    def add(self, message: Message) -> None:
        """Add a message."""
        self.messages += 1
        self.size += message.size
        if message.guess or not is_regular(message.entry, message.spans):
            self.irregular += 1
        else:
            self._file.add(message)

    def advice(self, least: int = 1) -> Advice:
        """Return the advice: the changes to fields that save at least `least` bytes each."""
        number = len(self._file)
        half = -(-number // 2)
        written = self._written(0, half)
        later = self._written(half, number)
        earlier = choose(self._catalog, fields_of(self._catalog, written), least=max(least // 2, 1))
        encoded = [*_encoded(earlier)]
        negative = written.negative_share(encoded), later.negative_share(encoded)
        written.merge(later)
        fields = fields_of(self._catalog, written)
        layers = choose(self._catalog, fields, least=least)
        split = None
        if number > half:
            size = self._file.size(half, number)
            split = Split(half, number - half, size, self._saved(earlier, half, number), *negative)
        saved = self._saved(layers, 0, number)
        return Advice(self.messages, self.size, self.irregular, written, fields, layers, saved, split)

    def _written(self, first: int, last: int) -> Written:
        """Write some messages in every form; forms of one layout are written once."""
        written = Written()
        for name, version, data, times in self._file.read(first, last):
            spec = self._catalog.message(name)
            if (name, version) not in self._forms:
                forms = [Form(GIVEN, spec, version), *advice_forms(spec, version)]
                self._forms[name, version] = [(form, layout_at(form.spec, version).wire) for form in forms]
            given, wire = self._forms[name, version][0]
            spans = walk(given.entry, data)
            value = values_of(given.entry, spans)
            by_wire: dict[Wire, Spans | None] = {wire: spans}
            for form, wire in self._forms[name, version]:
                if wire not in by_wire:
                    by_wire[wire] = price(form, value).spans
                if found := by_wire[wire]:
                    written.add(name, form, found, times)
        return written

    def _saved(self, layers: Layers, first: int, last: int) -> int:
        """Return the bytes that some messages lose when they are written under an overlay."""
        overlay = read_overlay(overlay_text("", layers))
        forms: dict[tuple[str, int], tuple[Form, Form]] = {}
        saved = 0
        for name, version, data, times in self._file.read(first, last):
            if name not in layers:
                continue
            if (name, version) not in forms:
                spec = self._catalog.message(name)
                forms[name, version] = Form(GIVEN, spec, version), Form("overlay", overlay.laid(spec), version)
            given, changed = forms[name, version]
            size = price(changed, values_of(given.entry, walk(given.entry, data))).size
            saved += times * (len(data) - (len(data) if size is None else size))
        return saved


def _encoded(layers: Layers) -> Iterator[Key]:
    """Yield the fields, and the elements of arrays, whose encoding an overlay changes."""
    for message, layer in layers.items():
        for path, keys in layer["fields"].items():
            if "encoding" in keys:
                yield message, path
            if "elementEncoding" in keys:
                yield message, f"{path}[]"
