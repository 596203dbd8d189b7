"""Layouts by version, and the pairs of messages, fields and versions of two sets of definitions.

A layout describes the form of each field's bytes, so that two layouts can be compared without bytes. Messages and
fields are paired by name first. The rest is paired by place and type, so that a renamed field is not reported as
removed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import module_of
from kwire_cli.spec.model import FIXED_TYPES, INTEGER_RANGES, NONE, Versions, default_value, fields_by_path, ranges
from kwire_cli.spec.reading import ENCODABLE_TYPES, element_encoding_at, encoding_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.spec.evolution.sources import Definitions, Given
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# The layout of a definition at one version: its fields in order, and the form of each field's bytes.
#
# No bytes are read by these layouts: `structs.messages.declare` is for that, and a test compares the two.

Wire = tuple[Any, ...]
"""A form of bytes, to be compared: two layouts with equal forms read each other's bytes."""


@dataclass(frozen=True)
class FieldAt:
    """A field at a version. `tag` is its number in the tag section, or None if it is mandatory in this version."""

    spec: FieldSpec
    tag: int | None
    nullable: bool
    compact: bool | None
    """True if its length or count is a varint; None for a field without one."""
    encoding: str | None
    element: Wire
    """The form of a value without sub-fields, or of an array's elements."""
    struct: StructAt | None

    @property
    def name(self) -> str:
        """The name in the definition."""
        return self.spec.name

    @property
    def kind(self) -> str:
        """The type, for the comparison with a field of another name. All structs count as the same type."""
        if not self.struct:
            return self.spec.type
        return "[]Struct" if self.spec.is_array else "Struct"

    @cached_property
    def default(self) -> Any:
        """The value of an omitted tagged field, for comparisons."""
        if self.spec.default == "null":
            return None
        if self.struct and not self.spec.is_array:
            return tuple(sub.default for sub in self.struct.plain)
        value = default_value(self.spec)
        return tuple(value) if isinstance(value, list) else value

    @cached_property
    def form(self) -> Wire:
        """The form of the value, with its length, count or presence byte; without what a null would need."""
        inner = self.struct.wire if self.struct else (self.element,)
        if self.spec.is_array:
            return (("array", self.compact, inner),)
        if not self.struct:
            return inner
        return (("presence", self.tag is not None, inner),) if self.nullable else inner

    @property
    def wire(self) -> Wire:
        """The form of the value, and whether it may be null."""
        return (*self.form, "or null") if self.nullable and (self.spec.is_array or not self.struct) else self.form


@dataclass(frozen=True)
class StructAt:
    """A struct at a version: its mandatory fields in order, its tagged ones by number, and the tags that it knows from
    other versions only.
    """

    plain: tuple[FieldAt, ...]
    tagged: tuple[FieldAt, ...]
    foreign: frozenset[int]
    flexible: bool

    @cached_property
    def wire(self) -> Wire:
        """The forms of all fields in order. A struct that is neither nullable nor followed by tags is equal to its
        fields.
        """
        forms: list[Any] = []
        for field in self.plain:
            forms.extend(field.wire)
        plain = tuple(forms)
        return (*plain, ("tags", tuple((field.tag, field.wire) for field in self.tagged))) if self.flexible else plain


class _Reading(NamedTuple):
    """A definition at a version while it is gone through."""

    spec: MessageSpec
    version: int
    flexible: bool

    def struct(self, fields: tuple[FieldSpec, ...]) -> StructAt:
        here = [self.field(field) for field in fields if self.version in field.versions]
        tagged = tuple(sorted((field for field in here if field.tag is not None), key=lambda field: field.tag or 0))
        tags = {field.tag for field in tagged}
        foreign = frozenset(field.tag for field in fields if field.tag is not None and field.tag not in tags)
        return StructAt(
            tuple(field for field in here if field.tag is None),
            tagged,
            foreign if self.flexible else frozenset(),
            self.flexible,
        )

    def field(self, field: FieldSpec) -> FieldAt:
        struct = self.struct(self.spec.struct_fields(field)) if field.struct_name else None
        sized = field.is_array or field.type not in FIXED_TYPES
        compact = self.flexible if field.flexible_versions is None else self.version in field.flexible_versions
        encoding = encoding_at(field, self.version) or element_encoding_at(field, self.version)
        return FieldAt(
            spec=field,
            tag=field.tag if tagged_at(self.spec, field, self.version) else None,
            nullable=sized and self.version in field.nullable_versions,
            compact=compact if sized and (field.is_array or not struct) else None,
            encoding=encoding,
            element=_form(field.element_type, encoding, compact=self.flexible if field.is_array else compact),
            struct=struct,
        )


def layout_at(spec: MessageSpec, version: int) -> StructAt:
    """Return the message at a version. The loader rejects structs that are recursive or too large."""
    return _Reading(spec, version, version in spec.flexible_versions).struct(spec.fields)


def tagged_at(spec: MessageSpec, field: FieldSpec, version: int) -> bool:
    """Return whether a field is in the tag section at a version."""
    return field.tag is not None and version in field.tagged_versions and version in spec.flexible_versions


def _form(kind: str, encoding: str | None, *, compact: bool) -> Wire:
    if kind in ENCODABLE_TYPES:
        bits = int(kind.removeprefix("int"))
        name = encoding or f"fixed{bits}"
        narrow = min(bits, int(name[-2:]))
        # A zig-zag varint of a number is the same at every width that holds it; the others are not.
        return ("integer", "packed" if name.startswith("packed") else name, narrow)
    if kind in INTEGER_RANGES or kind in FIXED_TYPES:
        return (kind,)
    # The bytes of records have the same form as bytes.
    return ("string" if kind == "string" else "bytes", compact)


# The pairs of fields of two structs: those with the same name, and those that only changed their name.


class Named(Protocol):
    """An item that can be paired: a field or a message."""

    @property
    def name(self) -> str:
        """The name in the definition."""


NEAR = 100
"""The number of fields without a partner that are compared to find a renamed one."""

T = TypeVar("T", bound=Named)


class Pairs(NamedTuple, Generic[T]):
    """Fields of an old struct paired with fields of a new one: `same` in the order of the new struct, then the fields
    that only one of the structs has.
    """

    same: tuple[tuple[T, T], ...]
    gone: tuple[T, ...]
    added: tuple[T, ...]


def pair(old: Sequence[T], new: Sequence[T], alike: Callable[[T, T], bool]) -> Pairs[T]:
    """Pair by name. Pair the other fields if they are `alike` and in the same place: between the same paired fields, or
    at the same end.
    """
    by_name = {item.name: item for item in old}
    partner = {item.name: by_name[item.name] for item in new if item.name in by_name}
    if len(partner) < len(new):
        partner |= _find_renames(old, new, set(partner), alike)
    taken = {item.name for item in partner.values()}
    same = tuple((partner[item.name], item) for item in new if item.name in partner)
    return Pairs(
        same,
        tuple(item for item in old if item.name not in taken),
        tuple(item for item in new if item.name not in partner),
    )


def _find_renames(old: Sequence[T], new: Sequence[T], paired: set[str], alike: Callable[[T, T], bool]) -> dict[str, T]:
    """Return the old field for each new name that replaced its name."""
    renames: dict[str, T] = {}
    before = _unpaired_runs(old, paired)
    for place, run in _unpaired_runs(new, paired).items():
        rest = before.get(place, [])
        start = 0
        for item in run:
            at = next((i for i in range(start, min(start + NEAR, len(rest))) if alike(rest[i], item)), None)
            if at is not None:
                renames[item.name] = rest[at]
                start = at + 1
    return renames


def _unpaired_runs(items: Sequence[T], paired: set[str]) -> dict[str, list[T]]:
    """Return the items without a partner, by the name of the paired item before them."""
    runs: dict[str, list[T]] = {}
    last = ""
    for item in items:
        if item.name in paired:
            last = item.name
        else:
            runs.setdefault(last, []).append(item)
    return runs


def moved(order: Iterable[int]) -> set[int]:
    """Return the smallest set of these distinct numbers to move so that the others ascend."""
    numbers = list(order)
    if all(a < b for a, b in pairwise(numbers)):
        return set()
    ends: list[int] = []
    lengths = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
        lengths.append(at)
    staying: list[int] = []
    for number, length in zip(reversed(numbers), reversed(lengths), strict=True):
        if length == len(ends) - 1 - len(staying) and (not staying or number < staying[-1]):
            staying.append(number)
    return set(numbers).difference(staying)


# Ranges of versions in which a definition does not change: one comparison is valid for a whole range.

MOST = 100_000
"""Maximum number of fields, with their structs written out, times ranges. None of Kafka's definitions exceeds 400. The
maximum takes some seconds, and up to a minute with a thousand fields that each begin at another version."""


class Stretches:
    """The ranges of a definition. Raise SpecError if the comparison of each of them would take too long."""

    def __init__(self, spec: MessageSpec) -> None:
        bounds = {spec.flexible_versions.low, spec.flexible_versions.high + 1}
        for _, field in fields_by_path(spec):
            for versions in _ranges(field):
                bounds |= {versions.low, versions.high + 1}
        self._starts = sorted(bounds)
        stretches = sum(bound in spec.valid_versions for bound in self._starts) + 1
        fields = _written_out(spec, spec.fields)
        if stretches * fields > MOST:
            what = (
                f"its {fields} fields change at {stretches} versions, and comparing it at each of them would take "
                f"too long"
            )
            raise SpecError(f"{what}; kwire diff MESSAGE VERSION VERSION compares two", file=spec.file)

    def of(self, version: int) -> int:
        """Return the number of the range that contains a version."""
        return bisect_right(self._starts, version)


def _written_out(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> int:
    """Return the number of fields with all structs written out in place. The loader bounds this number."""
    return len(fields) + sum(_written_out(spec, spec.struct_fields(field)) for field in fields if field.struct_name)


def _ranges(field: FieldSpec) -> Iterator[Versions]:
    yield from (field.versions, field.nullable_versions, field.tagged_versions)
    if field.flexible_versions is not None:
        yield field.flexible_versions
    yield from (row.versions for row in (*field.encoding, *field.element_encoding))


# Which message of an old set of definitions is which of a new one, and which of their versions are the same
# bytes by number.


class Common(NamedTuple):
    """A version of an old definition, and the new definition and version under which the same number stands for it on
    the wire.
    """

    version: int
    new: Given
    new_version: int


@dataclass(frozen=True)
class Match:
    """A message with its successor. `new` is None if it was removed; `lost` are versions without a successor.

    A new definition without versions is reserved: the message is gone, and nothing else may take its apiKey.
    """

    old: Given
    new: Given | None
    common: tuple[Common, ...] = ()
    lost: tuple[Versions, ...] = ()
    unreleased: Versions = NONE
    """The old version that was never released (latestVersionUnstable), if there is one."""
    withdrawn: Versions = NONE
    """The released version that the new definition does not release, if there is one."""


def message_pairs(old: Definitions, new: Definitions, *, part: bool = False) -> list[tuple[Given | None, Given | None]]:
    """Return every message with its successor, removed ones with None in the order of the old, then the new ones.

    A successor has the same name, or the same type and apiKey under a new name. With `part` the new definitions are a
    subset: messages outside it are omitted, and if each side has one message, they are paired under any names.
    """
    if part and len(old) == len(new) == 1:
        return [(next(iter(old.values())), next(iter(new.values())))]
    renamed = {
        _identity(message): message for name, message in new.items() if name not in old and message.spec.valid_versions
    }
    pairs: list[tuple[Given | None, Given | None]] = []
    for name, message in old.items():
        successor = new.get(name)
        if (not successor or not successor.spec.valid_versions) and message.spec.api_key is not None:
            successor = renamed.get(_identity(message), successor)
        if successor or not part:
            pairs.append((message, successor))
    taken = {id(successor) for _, successor in pairs}
    return pairs + [(None, message) for message in new.values() if id(message) not in taken]


def matched(old: Definitions, new: Definitions, *, part: bool = False) -> list[Match]:
    """Return every old message that has versions, with its successor; `part` as in `message_pairs`."""
    pairs = message_pairs(old, new, part=part)
    unstable = (_unstable(old), _unstable(new))
    return [
        _match(message, successor, new, unstable)
        for message, successor in pairs
        if message and message.spec.valid_versions
    ]


def _identity(given: Given) -> tuple[str, str | None, int | None]:
    return given.spec.type, module_of(given.spec.name, given.spec.type), given.spec.api_key


def _match(old: Given, new: Given | None, after: Definitions, unstable: tuple[frozenset[int], frozenset[int]]) -> Match:
    unreleased = _unreleased(old, unstable[0])
    if not new or not new.spec.valid_versions:
        return Match(old, new, lost=(old.spec.valid_versions,), unreleased=unreleased)
    if new.spec.type == "coordinator-key" and old.spec.type == "data":
        common = _record_types(old, new, after)
    else:
        both = old.spec.valid_versions & new.spec.valid_versions
        common = tuple(Common(version, new, version) for version in both.each())
    kept = {shared.version for shared in common}
    hidden = _unreleased(new, unstable[1]) & old.spec.valid_versions
    return Match(
        old,
        new,
        common,
        lost=ranges(version for version in old.spec.valid_versions.each() if version not in kept),
        unreleased=unreleased,
        withdrawn=NONE if unreleased.covers(hidden) else hidden,
    )


def _record_types(old: Given, new: Given, after: Definitions) -> tuple[Common, ...]:
    """Return the common versions of a coordinator's key. Its record type was the key's version up to Kafka 3.9, and is
    its apiKey since; the bytes are the same.
    """
    module = module_of(new.spec.name, new.spec.type)
    keys = {
        message.spec.api_key: message
        for message in after.values()
        if message.spec.type == "coordinator-key"
        and module_of(message.spec.name, message.spec.type) == module
        and 0 in message.spec.valid_versions
    }
    return tuple(Common(version, keys[version], 0) for version in old.spec.valid_versions.each() if version in keys)


def _unstable(among: Definitions) -> frozenset[int]:
    """Return the apiKeys of requests whose latest version is unstable."""
    specs = [message.spec for message in among.values()]
    return frozenset(
        spec.api_key
        for spec in specs
        if spec.type == "request" and spec.latest_version_unstable and spec.api_key is not None
    )


def _unreleased(given: Given, unstable: frozenset[int]) -> Versions:
    """Return the latest version, if it is unstable. A response depends on its request."""
    spec = given.spec
    latest = spec.latest_version_unstable or (spec.type == "response" and spec.api_key in unstable)
    return Versions(spec.valid_versions.high, spec.valid_versions.high) if latest else NONE
