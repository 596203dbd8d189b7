"""Advice: the encodings and tags that would have saved bytes in real messages.

The messages are written in several forms: all integers in each encoding, all possible fields tagged, and both.
`Written` adds up the bytes of each field in each form, and `choose` selects the smallest form of each field. The
choices are an overlay. A tag can lengthen the size field of the struct around it, so the saving of the overlay is not
the sum of these differences. The messages are written once more under the overlay.

Advice that is tested only on its own input proves little. So an overlay from the first half of the messages is also
tested on the other half. Messages are written several times. They are stored in a temporary database, with one row for
equal messages.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field as dataclass_field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.changed_definitions import next_tags, taggable
from kwire_cli.analysis.costs.forms import FORMS, GIVEN, TAGGED, Form, form_of
from kwire_cli.analysis.costs.prices import Prices
from kwire_cli.engine.values import anomalies
from kwire_cli.message.decoded import decode_spec
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import read_overlay
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH, sized_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.evolution.layout import Wire
    from kwire_cli.spec.model import MessageSpec

Key = tuple[str, str]
"""The name of a message, and the path of a field as in a ledger: the elements of an array of integers end in []."""
NEARLY_ALWAYS = 0.9
"""Minimum share of default values for which a tag is proposed."""
TRIED = (*OWN_WIDTH, TAGGED, *(f"{name} and {TAGGED}" for name in OWN_WIDTH))
"""The names of the forms that advice compares."""


@dataclass(slots=True)
class Field:
    """A field of a message: its values, and by form the bytes of its values, and those with lengths and tags.

    `negative` counts the values below 0, `taggable` the values that could be tagged, and `at_default` the values among
    them that a tag would omit.
    """

    kind: str
    count: int = 0
    negative: int = 0
    values: Counter[str] = dataclass_field(default_factory=Counter)
    bytes: Counter[str] = dataclass_field(default_factory=Counter)
    taggable: int = 0
    at_default: int = 0

    def saving(self, form: str) -> int:
        """Return the bytes that the field loses in a form."""
        return self.bytes[GIVEN] - self.bytes[form]

    @property
    def default_share(self) -> float:
        """Return the share of default values among those that could be tagged."""
        return self.at_default / self.taggable if self.taggable else 0.0

    @property
    def best(self) -> str:
        """Return the form with the fewest bytes. Of equal forms, return the one that changes less."""
        forms = [
            name
            for name in TRIED
            if (self.kind in ENCODABLE_TYPES or name == TAGGED)
            and (self.default_share >= NEARLY_ALWAYS or not _is_tagged(name))
        ]
        return max((GIVEN, *forms), key=self.saving)


def _is_tagged(form: str) -> bool:
    return form.endswith(TAGGED)


class Written:
    """Messages in every form of advice: their prices, and the numbers of negative integers of each field.

    Forms with equal layouts are written once. `_same` contains the representative of each form, by message and version.
    """

    def __init__(self) -> None:
        self.prices = Prices(self._forms)
        self.negative: Counter[Key] = Counter()
        self._same: dict[tuple[str, int], dict[str, str]] = {}

    def _forms(self, spec: MessageSpec, version: int) -> Sequence[Form]:
        by_layout: dict[Wire, Form] = {}
        same = self._same[spec.name, version] = {}
        for form in (Form(GIVEN, spec, version), *(form_of(name, spec, version) for name in TRIED)):
            same[form.name] = by_layout.setdefault(layout_at(form.spec, version).wire, form).name
        return [*by_layout.values()]

    def add(self, decoded: Decoded, times: int) -> None:
        """Write a message that occurs `times` times in every form."""
        self.prices.add(decoded, times)
        spans = decoded.raw
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            leaf = spans.program.leaves[node]
            if leaf.kind in ENCODABLE_TYPES and leaf.decl.read(spans.data[value:end]) < 0:
                self.negative[decoded.message, leaf.path] += times

    def add_to(self, fields: dict[Key, Field]) -> None:
        """Add the bytes of each field in each form to `fields`."""
        for comparison in self.prices.comparisons:
            first = next(iter(comparison.totals.values())).form
            if not first:
                continue
            spec = first.spec
            version = first.version
            same = self._same[spec.name, version]
            by_path = {name: total.by_path for name, total in comparison.totals.items()}
            can_be_tagged = taggable(spec) if version in spec.flexible_versions else ()
            for path, field in fields_by_path(spec):
                for where, kind in ((path, field.type), (f"{path}[]", field.element_type)):
                    sizes = {name: by_path[other].get(where, (0, 0, 0)) for name, other in same.items()}
                    if not any(map(any, sizes.values())) or (where != path and kind not in ENCODABLE_TYPES):
                        continue
                    found = fields.setdefault((spec.name, where), Field(kind))
                    found.count += sizes[GIVEN][0]
                    found.negative += self.negative.pop((spec.name, where), 0)
                    for name, (_, prefix, value) in sizes.items():
                        found.values[name] += value
                        found.bytes[name] += prefix + value
                    if where in can_be_tagged:
                        found.taggable += sizes[GIVEN][0]
                        found.at_default += sizes[GIVEN][0] - sizes[TAGGED][0]


# The changes that save bytes, and their overlay.

Layers = dict[str, dict[str, dict[str, Any]]]
"""The messages of an overlay: the keys of fields by path, under `fields`."""


def choose(catalog: Catalog, fields: Mapping[Key, Field], *, least: int = 1) -> Layers:
    """Return the changes to fields that would each have saved at least `least` bytes."""
    chosen: dict[str, dict[str, str]] = {}
    for (message, path), field in fields.items():
        form = field.best
        if field.saving(form) >= least:
            chosen.setdefault(message, {})[path] = form
    return {message: {"fields": _changes(catalog.message(message), chosen[message])} for message in sorted(chosen)}


def _changes(spec: MessageSpec, forms: Mapping[str, str]) -> dict[str, Any]:
    tags = next_tags(spec, [path for path, form in forms.items() if _is_tagged(form)])
    changes: dict[str, Any] = {}
    for path, field in fields_by_path(spec):
        for name, key in ((path, "encoding"), (f"{path}[]", "elementEncoding")):
            if name in forms and (encoding := FORMS[forms[name]].encoding):
                changes.setdefault(path, {})[key] = sized_encoding(encoding, field.element_type)
        if path in tags:
            versions = str(field.versions & spec.flexible_versions)
            changes.setdefault(path, {}).update({"tag": tags[path], "taggedVersions": versions})
    return changes


def overlay_text(about: str, layers: Layers) -> str:
    """Return an overlay in its file format, with one line for each field."""
    blocks = []
    for name, layer in layers.items():
        rows = ",\n".join(f"        {json.dumps(path)}: {json.dumps(keys)}" for path, keys in layer["fields"].items())
        blocks.append(f'    {json.dumps(name)}: {{\n      "fields": {{\n{rows}\n      }}\n    }}')
    inner = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "about": {json.dumps(about, ensure_ascii=False)},\n  "messages": {inner}\n}}\n'


# Advice on the messages of some inputs.


class Split(NamedTuple):
    """The test of advice from the first messages on the other messages: their number, their bytes, and the saving."""

    drawn_from: int
    messages: int
    bytes: int
    saved: int


class Advice(NamedTuple):
    """Advice on messages of `size` bytes. The overlay with these `layers` saves `saved` bytes."""

    messages: int
    size: int
    irregular: int
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
    """The messages that advice is about.

    Messages that were not read completely, or that have anomalies, count as unchanged. The database is a temporary
    file, which SQLite removes.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._stored = sqlite3.connect("")
        self._stored.execute("create table messages (number integer primary key, name, version, data)")
        self.messages = self.size = self.irregular = 0

    def close(self) -> None:
        """Remove the messages."""
        self._stored.close()

    def add(self, body: Body) -> None:
        """Add a message."""
        self.messages += 1
        self.size += body.stop - body.start
        if body.guess or body.is_early or not body.exact or anomalies(body.tree):
            self.irregular += 1
        else:
            row = body.message, body.layout_version, bytes(body.data[body.start : body.stop])
            self._stored.execute("insert into messages (name, version, data) values (?, ?, ?)", row)

    def advice(self, least: int = 1) -> Advice:
        """Return the advice: the changes to fields that save at least `least` bytes each."""
        number = self.messages - self.irregular
        half = -(-number // 2)
        fields: dict[Key, Field] = {}
        self._written(1, half).add_to(fields)
        first = choose(self._catalog, fields, least=max(least // 2, 1))
        self._written(half + 1, number).add_to(fields)
        layers = choose(self._catalog, fields, least=least)
        split = Split(half, number - half, *self._saved(first, half + 1, number)) if number > half else None
        _, saved = self._saved(layers, 1, number)
        counts = self.messages, self.size, self.irregular
        return Advice(*counts, fields, layers, saved, split)

    def _read(self, first: int, last: int) -> Iterator[tuple[Decoded, int]]:
        """Yield some messages with the number of their occurrences. Equal messages are yielded once."""
        query = "select name, version, data, count(*) from messages where number between ? and ? group by 1, 2, 3"
        for name, version, data, times in self._stored.execute(query, (first, last)):
            yield decode_spec(self._catalog.message(name), data, version), times

    def _written(self, first: int, last: int) -> Written:
        written = Written()
        for decoded, times in self._read(first, last):
            written.add(decoded, times)
        return written

    def _saved(self, layers: Layers, first: int, last: int) -> tuple[int, int]:
        """Return the bytes of some messages, and the bytes that an overlay saves."""
        overlay = read_overlay(overlay_text("", layers))
        prices = Prices(lambda spec, version: [Form(GIVEN, spec, version), Form("", overlay.laid(spec), version)])
        size = saved = 0
        for decoded, times in self._read(first, last):
            size += times * decoded.size
            if decoded.message in layers:
                prices.add(decoded, times)
        for comparison in prices.comparisons:
            saved -= comparison.totals[""].difference
        return size, saved
