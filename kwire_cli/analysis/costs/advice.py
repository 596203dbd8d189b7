"""`kwire compare --advise`: the encodings and tags that would have saved bytes in real messages.

The messages are written in several forms: all integers in each encoding, all possible fields tagged, and both. `Field`
has the bytes of a field in each form, and its smallest form is chosen. The choices are an overlay. A tag can lengthen
the size field of the struct around it, so the saving of the overlay is not the sum of these differences: the messages
are written once more under the overlay. In the meantime, they are stored in a temporary database.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field as dataclass_field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.changed_definitions import next_tags, taggable
from kwire_cli.analysis.costs.forms import AND, GIVEN, TAGGED, Form, form_of
from kwire_cli.analysis.costs.inputs import NO_MESSAGE, certain_bodies
from kwire_cli.analysis.costs.prices import Prices, given_total
from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.engine.values import anomalies
from kwire_cli.message.decoded import decode_spec
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import read_overlay
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH, sized_encoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.answer import Row
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.evolution.layout import Wire
    from kwire_cli.spec.model import MessageSpec

    Key = tuple[str, str]
    """The name of a message, and the path of a field as in a ledger: the elements of an array of integers end in []."""
    Layers = dict[str, dict[str, dict[str, Any]]]
    """The messages of an overlay: the keys of fields by path, under `fields`."""

NEARLY_ALWAYS = 0.9
"""Minimum share of default values for which a tag is proposed."""
TRIED = (*OWN_WIDTH, TAGGED, *(f"{name}{AND}{TAGGED}" for name in OWN_WIDTH))
"""The names of the forms that advice compares."""
SHOWN = 10
"""Number of rows that are displayed without --top."""
_FIELDS = (
    Column("message"),
    Column("path", "text", "field"),
    Column("type", keep=7),
    Column("count", "count", "values", keep=6),
    Column("bytes", "bytes"),
    *(Column(name, "bytes", keep=5) for name in OWN_WIDTH),
    Column("defaultShare", "share", "at default", keep=4),
    Column("best"),
    Column("saving", "bytes", "saves"),
)
"""The bytes of a field's values now, and of integers in each encoding. `best` is the form with the fewest bytes."""


@dataclass(slots=True)
class Field:
    """A field of a message: its values, and by form the bytes of its values, and those with lengths and tags.

    `taggable` counts the values that could be tagged, and `at_default` the values among them that a tag would omit.
    """

    kind: str
    count: int = 0
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
            and (self.default_share >= NEARLY_ALWAYS or not name.endswith(TAGGED))
        ]
        return max((GIVEN, *forms), key=self.saving)


def fields_in_forms(messages: Iterable[tuple[Decoded, int]]) -> dict[Key, Field]:
    """Return the bytes of each field in each form. Messages come with the number of their occurrences.

    Forms with equal layouts are written once. `same` contains the representative of each form, by message and version.
    """
    same: dict[tuple[str, int], dict[str, str]] = {}

    def forms_of(spec: MessageSpec, version: int) -> list[Form]:
        by_layout: dict[Wire, Form] = {}
        names = same[spec.name, version] = {}
        for form in (Form(GIVEN, spec, version), *(form_of(name, spec, version) for name in TRIED)):
            names[form.name] = by_layout.setdefault(layout_at(form.spec, version).wire, form).name
        return [*by_layout.values()]

    prices = Prices(forms_of)
    for decoded, times in messages:
        prices.add(decoded, times)
    fields: dict[Key, Field] = {}
    for totals in prices.found.values():
        form = given_total(totals).form
        assert form  # noqa: S101 - for the type checker
        by_path = {name: total.by_path for name, total in totals.items()}
        can_be_tagged = taggable(form.spec) if form.is_flexible else ()
        for path, field in fields_by_path(form.spec):
            for where, kind in ((path, field.type), (f"{path}[]", field.element_type)):
                names = same[form.spec.name, form.version]
                sizes = {name: by_path[other].get(where, (0, 0, 0)) for name, other in names.items()}
                if not any(map(any, sizes.values())) or (where != path and kind not in ENCODABLE_TYPES):
                    continue
                found = fields.setdefault((form.spec.name, where), Field(kind))
                found.count += sizes[GIVEN][0]
                for name, (_, prefix, value) in sizes.items():
                    found.values[name] += value
                    found.bytes[name] += prefix + value
                if where in can_be_tagged:
                    found.taggable += sizes[GIVEN][0]
                    found.at_default += sizes[GIVEN][0] - sizes[TAGGED][0]
    return fields


# The changes that save bytes, and their overlay.


def choose(catalog: Catalog, fields: Mapping[Key, Field], *, least: int = 1) -> Layers:
    """Return the changes to fields that would each have saved at least `least` bytes."""
    chosen: dict[str, dict[str, str]] = {}
    for (message, path), field in fields.items():
        form = field.best
        if field.saving(form) >= least:
            chosen.setdefault(message, {})[path] = form
    return {message: {"fields": _changes(catalog.message(message), chosen[message])} for message in sorted(chosen)}


def _changes(spec: MessageSpec, forms: Mapping[str, str]) -> dict[str, Any]:
    tags = next_tags(spec, [path for path, form in forms.items() if form.endswith(TAGGED)])
    changes: dict[str, Any] = {}
    for path, field in fields_by_path(spec):
        for name, key in ((path, "encoding"), (f"{path}[]", "elementEncoding")):
            encoding = forms.get(name, "").partition(AND)[0]
            if encoding in OWN_WIDTH:
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


class Advising:
    """The messages that advice is about.

    Messages that were not read completely, or that have anomalies, count as unchanged. The database is a temporary
    file, which SQLite removes.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._stored = sqlite3.connect("")
        self._stored.execute("create table messages (name, version, data)")
        self.messages = self.size = self.irregular = 0

    def close(self) -> None:
        """Remove the messages."""
        self._stored.close()

    def add(self, subject: Any) -> None:
        """Add the messages of a subject."""
        for body in certain_bodies(subject):
            self.messages += 1
            self.size += body.stop - body.start
            if body.guess or body.is_early or not body.exact or anomalies(body.tree):
                self.irregular += 1
            else:
                row = body.message, body.layout_version, bytes(body.data[body.start : body.stop])
                self._stored.execute("insert into messages values (?, ?, ?)", row)

    @property
    def emptiness(self) -> str:
        """The reason why there is no advice, or an empty string."""
        return "" if self.messages else NO_MESSAGE

    def advice(self, least: int = 1) -> Advice:
        """Return the advice: the changes to fields that save at least `least` bytes each."""
        fields = fields_in_forms(self._read())
        layers = choose(self._catalog, fields, least=least)
        return Advice(self.messages, self.size, self.irregular, fields, layers, self._saved(layers))

    def _read(self) -> Iterator[tuple[Decoded, int]]:
        """Yield the messages with the number of their occurrences. Equal messages are yielded once."""
        query = "select name, version, data, count(*) from messages group by 1, 2, 3"
        for name, version, data, times in self._stored.execute(query):
            yield decode_spec(self._catalog.message(name), data, version), times

    def _saved(self, layers: Layers) -> int:
        """Return the bytes that an overlay saves."""
        overlay = read_overlay(overlay_text("", layers))
        prices = Prices(lambda spec, version: [Form(GIVEN, spec, version), Form("", overlay.laid(spec), version)])
        for decoded, times in self._read():
            if decoded.message in layers:
                prices.add(decoded, times)
        return -sum(totals[""].difference for totals in prices.found.values())


# The answer.


class Advice(NamedTuple):
    """Advice on messages of `size` bytes. The overlay with these `layers` saves `saved` bytes."""

    messages: int
    size: int
    irregular: int
    fields: Mapping[Key, Field]
    layers: Layers
    saved: int

    @property
    def changed_fields(self) -> int:
        """Return the number of fields that the overlay changes."""
        return sum(len(layer["fields"]) for layer in self.layers.values())

    @property
    def overlay(self) -> str:
        """Return the text of the overlay."""
        what = f"{self.messages} messages of {self.size} bytes, of which it saves {self.saved}"
        return overlay_text(f"Drawn by kwire compare --advise from {what}.", self.layers)

    def answer(self) -> Answer:
        """Return the integers in each encoding, and the other fields for which a tag pays."""
        facts = [
            Fact("messages", self.messages, "count"),
            Fact("bytes", self.size, "bytes", "bytes without headers and size prefixes"),
            Fact("changedFields", self.changed_fields, "count", "fields that pay in another form"),
            Fact("saving", self.saved, "bytes", "saved by what pays"),
            Fact("savingShare", round(self.saved / self.size, 6) if self.size else 0.0, "share", "of all bytes"),
        ]
        if self.irregular:
            title = "messages that could not be read whole or had anomalies, and stay as they are"
            facts.append(Fact("asTheyAre", self.irregular, "count", title))
        title = "fields: bytes now, in each encoding of integers, and in the best form"
        return Answer(
            "What encodings and tags would save",
            [Facts(facts), Table("fields", _FIELDS, self._rows(), title, shown=SHOWN)],
        )

    def _rows(self) -> list[Row]:
        rows = []
        for key, field in self.fields.items():
            is_integer = field.kind in ENCODABLE_TYPES
            best = field.best
            if not field.count or (not is_integer and best == GIVEN):
                continue
            name = "as it is" if best == GIVEN else best
            encoding = best.partition(AND)[0]
            if encoding in OWN_WIDTH:
                name = best.replace(encoding, sized_encoding(encoding, field.kind), 1).replace(AND, " ")
            sizes = [field.values[form] if is_integer else None for form in OWN_WIDTH]
            share = round(field.default_share, 6) if field.taggable else None
            rows.append((*key, field.kind, field.count, field.values[GIVEN], *sizes, share, name, field.saving(best)))
        return sorted(rows, key=lambda row: (-row[-1], row[0], row[1]))
