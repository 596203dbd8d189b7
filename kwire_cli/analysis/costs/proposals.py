"""Prices of messages under proposals: the current form, a form with plain new fields, and one with tagged new fields.

A proposal is a definition or an overlay. A field that only the proposal has is new, and gets two forms: plain, at the
end of its struct, and tagged. Assumptions give a new field a value, in all messages or in a share of them. Every
price is the size of bytes that were written. The values of a message are written first without the new values and then
with them, and a share determines which messages have the new values.

A message is priced at its own version if the proposal changes the layout of that version. Otherwise it is priced at the
highest version of both definitions, as programs that know the proposal would use.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.changed_definitions import with_tags, without_tags
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import Once, price
from kwire_cli.analysis.costs.traffic_prices import compared_versions
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.message.encode import header_spec, header_version
from kwire_cli.spec.evolution.changes import changes, definition_part
from kwire_cli.spec.files import read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import EVERY, load_file, load_overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.overlay import Overlay

AS_IS = "as is"
PLAIN = "plain"
TAGGED = "tagged"
PROPOSED = "proposed"
"""The form of a proposal without new fields. It replaces PLAIN and TAGGED."""
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


class Proposed(NamedTuple):
    """A message under a proposal: the definition in each form, new fields, and the new paths of renamed fields."""

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
        names = list(self._definitions)
        for overlay in self._overlays:
            names += overlay.messages
        for name in names:
            if name != EVERY:
                catalog.message(name)  # raises InputError for an unknown message

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
        return Proposed({PROPOSED: new}, {}, renamed)
    forms = {PLAIN: without_tags(new, added)}
    if new.flexible_versions:
        forms[TAGGED] = with_tags(new, [path for path, field in added.items() if field.tag is None])
    return Proposed(forms, added, renamed)


def _is_new(path: str, known: set[str]) -> bool:
    """Return whether a field is new, and not only within a new struct."""
    above = path.rpartition(".")[0].removesuffix("[]")
    return path not in known and (not above or above in known)


class Sizes(NamedTuple):
    """The bytes of a frame, or of a part of it, in one form.

    `size` is with the new values that the frame carries, `unset` without new values, `filled` with all assumed values.
    """

    size: int
    unset: int
    filled: int


class Priced(NamedTuple):
    """A frame: its message, its current size, and its size in each form."""

    message: str
    before: int
    forms: Mapping[str, Sizes]


class Change(NamedTuple):
    """A header or body at a version: its current form, and its forms under a proposal that changes it.

    `added` contains the new fields by the paths of assumptions.
    """

    before: Form
    after: Sequence[Form]
    added: Mapping[str, FieldSpec]


class Pricing:
    """The prices of frames under proposals.

    `refused` counts, by reason, the frames that one of the forms cannot write. `others` is the number of frames that
    no proposal changes.
    """

    def __init__(self, catalog: Catalog, proposals: Proposals, assumptions: Sequence[Assumption] = ()) -> None:
        self._catalog = catalog
        self._proposals = proposals
        self._assumptions = assumptions
        self.others = 0
        self.refused: Counter[str] = Counter()
        self._changes: dict[tuple[str, int], Change] = {}
        self._carriers: dict[tuple[str, str], int] = {}
        self._known: Once[tuple[int, dict[str, Sizes]]] = Once()

    def price(self, frame: Frame) -> Priced | None:
        """Return the price of a completely decoded frame.

        Return None if no proposal changes the frame, or if one of the forms cannot be written.
        """
        body = frame.body
        header = frame.header
        if body is None or header is None or frame.api_key is None or frame.api_version is None:
            return None
        of_body = self._change(body.spec, body.version)
        version = header.version
        if of_body.before.version != body.version:
            version = header_version(self._catalog, frame.kind, frame.api_key, of_body.before.version)
        of_header = self._change(header_spec(self._catalog, frame.kind), version, HEADER)
        if not of_body.after and not of_header.after:
            self.others += 1
            return None
        carried = frozenset(
            one.path
            for one in self._assumptions
            if (one.path in of_header.added or one.path in of_body.added) and self._carries(one, body.message)
        )
        try:
            parts = self._sizes(of_header, header, carried), self._sizes(of_body, body, carried)
        except EncodeError as error:
            self.refused[str(error)] += 1
            return None
        prefix = frame.size - (header.stop - header.start) - (body.stop - body.start)
        names = dict.fromkeys(form.name for form in (*of_header.after, *of_body.after))
        forms = {}
        for name in names:
            halves = [sizes.get(name, Sizes(size, size, size)) for size, sizes in parts]
            forms[name] = Sizes(*(prefix + sum(sizes) for sizes in zip(*halves, strict=True)))
        return Priced(body.message, prefix + sum(size for size, _ in parts), forms)

    def _change(self, spec: MessageSpec, version: int, above: str = "") -> Change:
        """Return the change of a header or body under the proposals. `above` is the prefix of assumption paths."""
        key = spec.name, version
        if key not in self._changes:
            found = self._proposals.of(spec)
            versions = compared_versions(spec, next(iter(found.forms.values())), version) if found else None
            change = Change(Form(AS_IS, spec, version), [], {})
            if found and versions:
                old, new = versions
                names = {path: name.rpartition(".")[2] for path, name in found.renamed.items()}
                after = [Form(name, proposed, new, source=spec, names=names) for name, proposed in found.forms.items()]
                added = {above + path: field for path, field in found.added.items()}
                change = Change(Form(AS_IS, spec, old), after, added)
            self._changes[key] = change
        return self._changes[key]

    def _carries(self, one: Assumption, message: str) -> bool:
        """Return whether the next message has the value. Messages are chosen evenly, to match the share at any time."""
        key = one.path, message
        number = self._carriers[key] = self._carriers.get(key, 0) + 1
        return int(number * one.share) > int((number - 1) * one.share)

    def _sizes(self, change: Change, decoded: Decoded, carried: frozenset[str]) -> tuple[int, dict[str, Sizes]]:
        """Return the size of a header or body in the current form and in each new form.

        Raises EncodeError if a form cannot be written.
        """

        def sizes() -> tuple[int, dict[str, Sizes]]:
            assumed = [one for one in self._assumptions if one.path in change.added]
            some = [one for one in assumed if one.path in carried]
            found = {}
            for form in change.after:
                by_number = {len(ones): _size(form, change.added, decoded.value, ones) for ones in ([], some, assumed)}
                found[form.name] = Sizes(by_number[len(some)], by_number[0], by_number[len(assumed)])
            return _size(change.before, {}, decoded.value, []), found

        key = change.before.spec.name, change.before.version, decoded.version, carried
        return self._known.get(key, bytes(decoded.data[decoded.start : decoded.stop]), sizes)


def _size(form: Form, added: Mapping[str, FieldSpec], value: Any, assumptions: Sequence[Assumption]) -> int:
    """Return the bytes of a header or body in a form, with the assumed values of some new fields."""
    for one in assumptions:
        value = with_value(value, one.path.removeprefix(HEADER).split("."), one.value_of(added[one.path]))
    found = price(form, value)
    if found.size is None:
        raise EncodeError(found.refusal or "")
    return found.size


def with_value(value: Any, steps: Sequence[str], new: Any) -> Any:
    """Return values in JSON form with a new field in every struct of a path. Null structs and arrays stay null."""
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
