"""A definition as somebody gave it: what it says, and where in its file everything stands. A file holds one, or a list of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kwire_cli.errors import SpecError
from kwire_cli.spec.jsontext import Place
from kwire_cli.spec.loader import read_text_leniently

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.findings import Finding
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.reading import Definition, Item

TOP = Place(1, 1)
_BLANK = " \t\r\n"


@dataclass(frozen=True, eq=False)
class Given:
    """A definition; `start` is where its text begins in the file, `faults` are the rules of Kafka's generator that it breaks by itself."""

    definition: Definition
    start: Place = TOP
    faults: tuple[Finding, ...] = ()

    @property
    def spec(self) -> MessageSpec:
        """What it says."""
        return self.definition.spec

    def place(self, path: str = "", key: str = "") -> Place:
        """The line and column of a field by its path in JSON names, or of a key of it; of the message itself without a path."""
        keys = self._keys(path)
        text = self.definition.report.text
        return _from(self.start, text.nearest((*keys, key) if key else keys)) if text else self.start

    def _keys(self, path: str) -> tuple[str | int, ...]:
        """What leads to a field through the JSON; to the last part of its path that is there."""
        items = self.definition.items
        keys: tuple[str | int, ...] = ()
        for name in path.replace("[]", "").split(".") if path else ():
            item = self._named(items).get(name)
            if not item:
                break
            keys, items = item.spot.keys, item.items or self._common_structs.get(item.spec.struct_name or "", ())
        return keys

    def _named(self, items: tuple[Item, ...]) -> dict[str, Item]:
        """The items of a struct by their names in JSON; many findings ask for those of one struct."""
        if id(items) not in self._names:
            self._names[id(items)] = {item.spec.json_name: item for item in items}
        return self._names[id(items)]

    @cached_property
    def _names(self) -> dict[int, dict[str, Item]]:
        return {}

    @cached_property
    def _common_structs(self) -> dict[str, tuple[Item, ...]]:
        return {struct.spec.name: struct.items for struct in self.definition.structs}


def definitions_in(text: str, file: str) -> Iterator[Given]:
    """The definition in a file's text, or those of a list; SpecError for one that can't be loaded."""
    parts = _items(text)
    if parts is None:
        definition, faults = read_text_leniently(text, file)
        yield Given(definition, TOP, tuple(faults))
        return
    for start, part in parts:
        try:
            definition, faults = read_text_leniently(part, file)
        except SpecError as error:
            place = _from(start, Place(error.line or 1, error.column or 1))
            raise SpecError(error.reason, file=file, line=place.line, column=place.column, path=error.path) from None
        yield Given(definition, start, tuple(faults))


def _items(text: str) -> list[tuple[Place, str]] | None:
    """The texts of a list's items with where each begins; None for what is no list, or is one that has to be read to say what is wrong with it."""
    at = _blank(text, 0)
    if not text.startswith("[", at):
        return None
    found: list[tuple[Place, str]] = []
    line, line_start, counted = 1, 0, 0
    decoder = json.JSONDecoder()
    at = _blank(text, at + 1)
    try:
        while not text.startswith("]", at):
            _, end = decoder.raw_decode(text, at)
            if newlines := text.count("\n", counted, at):
                line, line_start = line + newlines, text.rindex("\n", counted, at) + 1
            found.append((Place(line, at - line_start + 1), text[at:end]))
            counted, at = at, _blank(text, end)
            if not text.startswith((",", "]"), at):
                return None
            at = _blank(text, at + 1) if text.startswith(",", at) else at
    except (ValueError, RecursionError):
        return None
    return found if not text[at + 1 :].strip() else None


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _from(start: Place, place: Place) -> Place:
    """A place in a file, of one in a part of it."""
    return Place(start.line + place.line - 1, place.column + (start.column - 1 if place.line == 1 else 0))
