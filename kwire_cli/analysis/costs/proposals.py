"""Prices of messages under proposals: the current form, a form with plain new fields, and one with tagged new fields.

A proposal is a definition or an overlay. A field that only the proposal has is new, and gets two forms: plain, at the
end of its struct, and tagged. Assumptions give a new field a value, in all messages or in a share of them. The values
of a message are written first without the new values and then with them, and a share determines which messages have
the new values.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.definition_changes import AS_IS, ChangedDefinition, renamed_fields
from kwire_cli.analysis.costs.prices import Prices
from kwire_cli.analysis.costs.proposal_effects import effects
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.message.encode import header_spec
from kwire_cli.spec.evolution.changes import changes, definition_part
from kwire_cli.spec.files import read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import EVERY, Overlay, load_file, load_overlay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.costs.forms import Form
    from kwire_cli.analysis.costs.prices import Price
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

HEADER = "header."
"""Prefix of the paths of header fields in assumptions."""
_SHARE = re.compile(r"(?P<value>.*)@(?P<share>0?\.\d+|[01](?:\.0+)?)$", re.DOTALL)
_LENGTH = re.compile(r"len:(\d{1,6})$")


class Assumption(NamedTuple):
    """The value of a new field, as text, and the share of the messages that carry it."""

    path: str
    text: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Assumption:
        """Return the assumption in `PATH=VALUE@SHARE`. Raise InputError if it has no path or no value."""
        path, equals, value = text.partition("=")
        match = _SHARE.match(value)
        share = float(match["share"]) if match else 1.0
        value = match["value"] if match else value
        if not path or not equals or not value:
            raise InputError(f"--assume {text}: write PATH=VALUE, PATH=len:N or PATH=VALUE@SHARE, such as zone=a@0.3")
        return cls(path, value, share)

    def value_of(self, field: FieldSpec) -> Any:
        """Return the value in JSON form for a field. Raise InputError if the text does not fit the field."""
        kind = field.element_type
        length = _LENGTH.match(self.text)
        if length and not field.is_array and kind in {"string", "bytes", "records"}:
            size = int(length[1])
            return "x" * size if kind == "string" else base64.b64encode(bytes(size)).decode("ascii")
        if not field.is_array and kind in {"string", "bytes", "records", "uuid"}:
            return self.text
        try:
            return json.loads(self.text)
        except ValueError:
            raise InputError(f"--assume {self.path}: {self.text!a} is not a value of type {field.type}") from None


def proposed(old: MessageSpec, new: MessageSpec) -> ChangedDefinition:
    """Return a message under a proposed definition, with its new fields."""
    if new is old:
        return ChangedDefinition(old, new, {})
    renamed = renamed_fields(changes(definition_part(old), definition_part(new)))
    known = {path for path, _ in fields_by_path(old)} | {*renamed.values()}
    added = {path: field for path, field in fields_by_path(new) if _is_new(path, known)}
    return ChangedDefinition(old, new, renamed, added)


def _is_new(path: str, known: set[str]) -> bool:
    """Return whether a field is new, and not only within a new struct."""
    above = path.rpartition(".")[0].removesuffix("[]")
    return path not in known and (not above or above in known)


class Pricing:
    """The prices of frames under proposals: overlays, and files with a definition or an overlay each.

    `refused` counts, by reason, the frames that one of the forms cannot write. `others` is the number of frames that
    no proposal changes. Raises InputError for a proposal for an unknown message, and for an assumption about a field
    that is not new in any message.
    """

    def __init__(
        self, catalog: Catalog, proposals: Sequence[str | Overlay], assumptions: Sequence[Assumption] = ()
    ) -> None:
        self._catalog = catalog
        self.assumptions = assumptions
        self.others = 0
        self.refused: Counter[str] = Counter()
        self._definitions: dict[str, MessageSpec] = {}
        self._overlays: list[Overlay] = []
        self._changes: dict[str, ChangedDefinition] = {}
        self._carriers: Counter[tuple[str, str]] = Counter()
        self._by_assumptions: dict[tuple[Assumption, ...], Prices] = {}
        names: list[str] = []
        for proposal in proposals:
            if isinstance(proposal, Overlay) or "messages" in parse(read_text(proposal), proposal).value:
                self._overlays.append(proposal if isinstance(proposal, Overlay) else load_overlay(proposal))
                names += self._overlays[-1].messages
            else:
                spec = load_file(proposal)
                self._definitions[spec.name] = spec
                names.append(spec.name)
        if EVERY in names:
            names = [*(name for name in names if name != EVERY), *(entry.name for entry in catalog)]
        known: dict[str, FieldSpec] = {}
        for name in names:
            known |= self._new_fields(catalog.message(name))  # raises InputError for an unknown message
        for one in assumptions:
            if one.path not in known:
                raise InputError(
                    f"--assume {one.path}: no new field has this path{did_you_mean(close_to(one.path, known))}; "
                    f"new are {', '.join(known) or 'none'}"
                )

    def change(self, spec: MessageSpec) -> ChangedDefinition:
        """Return a message under the proposals, which may not change it."""
        if spec.name not in self._changes:
            new = self._definitions.get(spec.name, spec)
            for overlay in self._overlays:
                new = overlay.laid(new)
            self._changes[spec.name] = proposed(spec, new)
        return self._changes[spec.name]

    @property
    def effects(self) -> Iterator[str]:
        """The effects of each form on programs that do not know the proposal, as sentences."""
        return effects(self._prices().forms.values())

    def _new_fields(self, spec: MessageSpec) -> dict[str, FieldSpec]:
        """Return the new fields of a message or header by the paths of assumptions."""
        return {f"{HEADER * (spec.type == 'header')}{path}": field for path, field in self.change(spec).added.items()}

    def price(self, frame: Frame) -> dict[str, list[int]] | None:
        """Return the sizes of a completely decoded frame in its current form and in each proposed form.

        The sizes of a form are with the new values that the frame carries, without new values, and with all assumed
        values. Return None if no proposal changes the frame, or if one of the forms cannot be written.
        """
        body = frame.body
        header = frame.header
        if body is None or header is None or frame.api_key is None or frame.api_version is None:
            return None
        version = header.version
        own = self._prices().forms_at(body.spec, body.version)[0].version
        if own != body.version:
            version = self._catalog.header_version(frame.kind, frame.api_key, own)
        parts = [(header_spec(self._catalog, frame.kind), version, header), (body.spec, body.version, body)]
        changed = [spec for spec, number, _ in parts if len(self._prices().forms_at(spec, number)) > 1]
        if not changed:
            self.others += 1
            return None
        new = {path for spec in changed for path in self._new_fields(spec)}
        carried = [one for one in self.assumptions if one.path in new and self._carries(one, body.message)]
        prefix = frame.size - (header.stop - header.start) - (body.stop - body.start)
        try:
            columns = [self._sizes(parts, assumed) for assumed in (carried, (), self.assumptions)]
        except EncodeError as error:
            self.refused[str(error)] += 1
            return None
        return {form: [prefix + sizes[form] for sizes in columns] for form in columns[0]}

    def _carries(self, one: Assumption, message: str) -> bool:
        """Return whether the next message has the value. Messages are chosen evenly, to match the share at any time."""
        self._carriers[one.path, message] += 1
        number = self._carriers[one.path, message]
        return int(number * one.share) > int((number - 1) * one.share)

    def _sizes(self, parts: Sequence[tuple[MessageSpec, int, Decoded]], assumed: Sequence[Assumption]) -> Counter[str]:
        """Return the size of a header and a body in each form. Raises EncodeError if a form cannot be written."""
        by_part: list[dict[str, int]] = []
        for spec, version, decoded in parts:
            new = self._new_fields(spec)
            prices = self._prices(tuple(one for one in assumed if one.path in new)).prices(decoded, version)
            by_part.append({price.form.name: _size(price) for price in prices})
        total: Counter[str] = Counter()
        for form in chain(*by_part):
            total[form] = sum(sizes.get(form, sizes[AS_IS]) for sizes in by_part)
        return total

    def _prices(self, assumed: tuple[Assumption, ...] = ()) -> Prices:
        """Return the prices of headers and bodies in their current form, and in proposed forms with assumed values."""
        if assumed not in self._by_assumptions:
            self._by_assumptions[assumed] = Prices(partial(self._forms, assumed))
        return self._by_assumptions[assumed]

    def _forms(self, assumed: tuple[Assumption, ...], spec: MessageSpec, version: int) -> list[Form]:
        new = self._new_fields(spec)
        values = {tuple(one.path.removeprefix(HEADER).split(".")): one.value_of(new[one.path]) for one in assumed}
        as_is, *others = self.change(spec).forms(version)
        return [as_is, *(replace(form, assumed=values) for form in others)]


def _size(price: Price) -> int:
    if price.size is None:
        raise EncodeError(price.refusal or "")
    return price.size
