"""Proposals priced on messages: the values of each as they are, with the new fields plain, and with them tagged.

A proposal is a definition or an overlay. A field that only the proposal has is new, and gets two forms: plain, at the
end of its struct, and tagged. Assumptions give a new field a value, in all messages or in a share of them. Every
price is the size of bytes that were written: a message's values go through `forms.price`, first without the new values
and then with them, and what a share costs follows from which messages carry them.

A message is priced at its own version if the proposal changes the layout of that version. Otherwise it is priced at the
highest version of both definitions, as programs that know the proposal would use.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.overlaid import priced_values
from kwire_cli.analysis.costs.traffic_prices import compared_versions
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.message.encode import header_spec, header_version
from kwire_cli.spec.evolution.changes import changes, definition_part
from kwire_cli.spec.files import read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.model import NONE, changed, fields_by_path
from kwire_cli.spec.overlay import EVERY, load_file, load_overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec, Versions
    from kwire_cli.spec.overlay import Overlay

AS_IS, PLAIN, TAGGED, PROPOSED = "as is", "plain", "tagged", "proposed"
"""The forms. A proposal without new fields has the last one instead of plain and tagged."""
HEADER = "header."
"""Before the paths of fields of headers, in assumptions."""
_SHARE = re.compile(r"(?P<value>.*)@(?P<share>0?\.\d+|[01](?:\.0+)?)$", re.DOTALL)
_LENGTH = re.compile(r"len:(\d{1,6})$")
MOST_KEPT, LARGEST_KEPT = 4096, 1024
"""Messages whose prices are kept, and the bytes of the largest: captures repeat small messages."""


class Assumption(NamedTuple):
    """The value of a new field, as text, and the share of the messages that carry it."""

    path: str
    text: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Assumption:
        """Return the assumption in `PATH=VALUE@SHARE`. InputError if it has no path or no value."""
        path, equals, value = text.partition("=")
        match = _SHARE.match(value)
        share = float(match["share"]) if match else 1.0
        value = match["value"] if match else value
        if not path or not equals or not value:
            raise InputError(f"--assume {text}: write PATH=VALUE, PATH=len:N or PATH=VALUE@SHARE, such as zone=a@0.3")
        return cls(path, value, share)

    def value_of(self, field: FieldSpec) -> Any:
        """Return the value in JSON form for a field. InputError if the text is no such value."""
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


class Proposed(NamedTuple):
    """What a proposal makes of a message: the definition in each form, and paths of new and of renamed fields."""

    old: MessageSpec
    forms: Mapping[str, MessageSpec]
    added: Mapping[str, FieldSpec]
    renamed: Mapping[str, str]


class Proposals:
    """Proposals for messages and headers, from files with a definition or an overlay each."""

    def __init__(self, catalog: Catalog, files: Sequence[str]) -> None:
        self._catalog = catalog
        self._definitions: dict[str, MessageSpec] = {}
        self._overlays: list[Overlay] = []
        self._known: dict[str, Proposed | None] = {}
        for file in files:
            if "messages" in parse(read_text(file), file).value:
                self._overlays.append(load_overlay(file))
            else:
                spec = load_file(file)
                self._definitions[spec.name] = spec
        named = {name for overlay in self._overlays for name in overlay.messages if name != EVERY}
        for name in (*self._definitions, *named):
            catalog.message(name)

    def of(self, spec: MessageSpec) -> Proposed | None:
        """Return the proposal for a message, or None if the proposal does not change it."""
        if spec.name not in self._known:
            new = self._definitions.get(spec.name, spec)
            for overlay in self._overlays:
                new = overlay.laid(new)
            self._known[spec.name] = None if new is spec else proposed(spec, new)
        return self._known[spec.name]


def proposed(old: MessageSpec, new: MessageSpec) -> Proposed:
    """Return the forms of a proposed definition. A message that is never flexible has no tagged form."""
    differences = changes(definition_part(old), definition_part(new))
    renamed = {change.old_path: change.path for change in differences if change.kind == "renamed" and change.path}
    known = {path for path, _ in fields_by_path(old)} | {*renamed.values()}
    added = {path: field for path, field in fields_by_path(new) if _is_new(path, known)}
    if not added:
        return Proposed(old, {PROPOSED: new}, {}, renamed)
    forms = {PLAIN: _retagged(new, added, tagged=False)}
    if new.flexible_versions:
        forms[TAGGED] = _retagged(new, added, tagged=True)
    return Proposed(old, forms, added, renamed)


def _is_new(path: str, known: set[str]) -> bool:
    """Return whether a field is new, and not only within a new struct."""
    above = path.rpartition(".")[0].removesuffix("[]")
    return path not in known and (not above or above in known)


def _retagged(spec: MessageSpec, added: Mapping[str, FieldSpec], *, tagged: bool) -> MessageSpec:
    """Return a definition with the new fields plain, or tagged by the next tags of their structs."""
    used: dict[str, int] = {}
    for path, field in fields_by_path(spec):
        if field.tag is not None and path not in added:
            above = path.rpartition(".")[0]
            used[above] = max(used.get(above, -1), field.tag)

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in added:
            return field
        if not tagged:
            return replace(field, tag=None, tagged_versions=NONE)
        if field.tag is not None:
            return field
        above = path.rpartition(".")[0]
        used[above] = used.get(above, -1) + 1
        versions: Versions = field.versions & spec.flexible_versions
        return replace(field, tag=used[above], tagged_versions=versions)

    return changed(spec, change)


class Sizes(NamedTuple):
    """The bytes of a frame or a part of it in a form: with the values that it carries, with no new field set, and with
    all assumed values.
    """

    size: int
    unset: int
    filled: int


class Priced(NamedTuple):
    """A frame: its message, its bytes as it is, and its bytes in each form."""

    message: str
    before: int
    forms: Mapping[str, Sizes]


@dataclass(frozen=True, eq=False)
class Part:
    """A header or body under a proposal, at the versions in which it is priced."""

    proposed: Proposed
    old_version: int
    new_version: int

    @cached_property
    def before(self) -> Form:
        """The form as it is."""
        return Form(AS_IS, self.proposed.old, self.old_version)

    @cached_property
    def after(self) -> dict[str, Form]:
        """The proposed forms by name."""
        return {name: Form(name, spec, self.new_version) for name, spec in self.proposed.forms.items()}


class _UnwritableError(Exception):
    """A form has no bytes for the values of a message."""


class Given(NamedTuple):
    """A header or body as it came: its definition, its version and its values; `above` begins paths of assumptions."""

    spec: MessageSpec
    version: int
    value: Any
    above: str


class Pricing:
    """The prices of frames under proposals.

    `refused` counts by reason the frames that one of the forms can't write, `others` those that no proposal concerns.
    """

    def __init__(self, catalog: Catalog, proposals: Proposals, assumptions: Sequence[Assumption] = ()) -> None:
        self._catalog, self._proposals, self._assumptions = catalog, proposals, assumptions
        self.others = 0
        self.refused: Counter[str] = Counter()
        self.met: set[str] = set()
        """The assumptions that concern a message."""
        self._parts: dict[tuple[str, int], Part | None] = {}
        self._carriers: dict[tuple[str, str], int] = {}
        self._known: dict[tuple[str, int, bytes, frozenset[str]], tuple[int, dict[str, Sizes]]] = {}

    def price(self, frame: Frame) -> Priced | None:
        """Return the price of a frame that was decoded whole.

        Return None if no proposal concerns the frame, or if one of the forms cannot be written.
        """
        body, header = frame.body, frame.header
        if body is None or header is None or frame.api_key is None or frame.api_version is None:
            return None
        part = self._part(body.spec, body.version)
        version = header.version
        if part and part.old_version != body.version:
            version = header_version(self._catalog, frame.kind, frame.api_key, part.old_version)
        head = self._part(header_spec(self._catalog, frame.kind), version)
        if part is None and head is None:
            self.others += 1
            return None
        carried = frozenset(
            one.path
            for one in self._assumptions
            if self._concerns(one, part, head) and self._carries(one, body.message)
        )
        own = Given(body.spec, body.version, body.value, "")
        try:
            in_header = self._sizes(
                head, Given(header_spec(self._catalog, frame.kind), version, header.value, HEADER), carried
            )
            in_body = self._body(part, own, bytes(body.data[body.start : body.stop]), carried)
        except _UnwritableError as error:
            self.refused[str(error)] += 1
            return None
        prefix = frame.size - (header.stop - header.start) - (body.stop - body.start)
        return _added_up(body.message, prefix, in_header, in_body)

    def _part(self, spec: MessageSpec, version: int) -> Part | None:
        key = spec.name, version
        if key not in self._parts:
            found = self._proposals.of(spec)
            versions = None
            if found:
                newest = next(iter(found.forms.values()))
                versions = compared_versions(spec, newest, version)
            self._parts[key] = Part(found, *versions) if found and versions else None
        return self._parts[key]

    def _concerns(self, one: Assumption, part: Part | None, head: Part | None) -> bool:
        is_header = one.path.startswith(HEADER)
        owner = head if is_header else part
        concerns = owner is not None and one.path.removeprefix(HEADER) in owner.proposed.added
        if concerns:
            self.met.add(one.path)
        return concerns

    def _carries(self, one: Assumption, message: str) -> bool:
        """Return whether the next message carries the value: evenly, so that the share is met after every message."""
        key = one.path, message
        number = self._carriers[key] = self._carriers.get(key, 0) + 1
        return int(number * one.share) > int((number - 1) * one.share)

    def _body(
        self, part: Part | None, own: Given, data: bytes, carried: frozenset[str]
    ) -> tuple[int, dict[str, Sizes]]:
        """Return the sizes of a body. Equal bodies are priced once."""
        key = own.spec.name, own.version, data, carried
        found = self._known.get(key)
        if found is None:
            found = self._sizes(part, own, carried)
            if len(data) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key] = found
        return found

    def _sizes(self, part: Part | None, own: Given, carried: frozenset[str]) -> tuple[int, dict[str, Sizes]]:
        """Return the bytes of a header or body as it is, and in each form. Equal values are written once."""
        if part is None:
            return _written(Form(AS_IS, own.spec, own.version), own, own.value, {}), {}
        about = {
            one.path: one
            for one in self._assumptions
            if one.path.startswith(own.above) and one.path.removeprefix(own.above) in part.proposed.added
        }
        sizes = {}
        for name, form in part.after.items():
            unset = self._size(part, form, own, {})
            filled = self._size(part, form, own, about) if about else unset
            some = {path: one for path, one in about.items() if path in carried}
            is_whole = len(some) == len(about)
            size = filled if is_whole else self._size(part, form, own, some) if some else unset
            sizes[name] = Sizes(size, unset, filled)
        return _written(part.before, own, own.value, {}), sizes

    def _size(self, part: Part, form: Form, own: Given, assumptions: Mapping[str, Assumption]) -> int:
        """Return the bytes of a header or body in a form, with the assumed values of some new fields."""
        value = own.value
        for one in assumptions.values():
            path = one.path.removeprefix(own.above)
            value = with_value(value, path.split("."), one.value_of(part.proposed.added[path]))
        names = {path: to.rpartition(".")[2] for path, to in part.proposed.renamed.items()}
        return _written(form, own, value, names)


def _written(form: Form, own: Given, value: Any, names: Mapping[str, str]) -> int:
    found = priced_values(form, own.spec, value, names)
    if found.size is None:
        raise _UnwritableError(found.refusal)
    return found.size


def _added_up(
    message: str, prefix: int, in_header: tuple[int, dict[str, Sizes]], in_body: tuple[int, dict[str, Sizes]]
) -> Priced:
    """Return the price of a frame: of its size prefix, its header and its body."""
    before = prefix + in_header[0] + in_body[0]
    forms: dict[str, Sizes] = {}
    for name in (*in_header[1], *in_body[1]):
        halves = [sizes.get(name, Sizes(size, size, size)) for size, sizes in (in_header, in_body)]
        forms[name] = Sizes(*(prefix + sum(sizes) for sizes in zip(*halves, strict=True)))
    return Priced(message, before, forms)


def with_value(value: Any, steps: Sequence[str], new: Any) -> Any:
    """Return values in JSON form with a new field in every struct of a path; null structs and arrays stay."""
    if isinstance(value, list):
        return [with_value(item, steps, new) for item in value]
    if not isinstance(value, dict):
        return value
    name = steps[0].removesuffix("[]")
    if len(steps) == 1:
        return {**value, name: new}
    return {**value, name: with_value(value[name], steps[1:], new)} if name in value else value


def check_assumptions(proposals: Proposals, specs: Iterable[MessageSpec], assumptions: Sequence[Assumption]) -> None:
    """Raise InputError for an assumption about a field that is not new in any of the messages."""
    known = [*_paths(proposals, specs)]
    for one in assumptions:
        if one.path not in known:
            raise InputError(
                f"--assume {one.path}: no new field has this path{did_you_mean(close_to(one.path, known))}; "
                f"new are {', '.join(known) or 'none'}"
            )


def _paths(proposals: Proposals, specs: Iterable[MessageSpec]) -> Iterator[str]:
    for spec in specs:
        if found := proposals.of(spec):
            yield from (f"{HEADER * (spec.type == 'header')}{path}" for path in found.added)
