"""Layouts by version, and the pairs of messages, fields and versions of two sets of definitions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import module_of
from kwire_cli.spec.model import FIXED_TYPES, INTEGER_RANGES, NONE, Versions, default_value, fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES, element_encoding_at, encoding_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.spec.evolution.sources import Definitions, Given
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# What a definition says of one version: which fields stand there, in which order, and by which form of bytes
# each is told apart on the wire.
#
# Nothing here is a layout that bytes are read by: that is `structs.messages.declare`, and a test holds the
# two against each other.

Wire = tuple[Any, ...]
"""A form of bytes, to be compared: two layouts with equal forms read each other's bytes."""


@dataclass(frozen=True)
class FieldAt:
    """A field at a version. `tag` is its number where it stands in the tag section, None where it is mandatory
    there.
    """

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
        """The type, by which it can be the same field under another name: structs are such whatever they are called."""
        if not self.struct:
            return self.spec.type
        return "[]Struct" if self.spec.is_array else "Struct"

    @cached_property
    def default(self) -> Any:
        """The value that a tagged field has where it is left out, for comparisons."""
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
        """The forms of all fields in a row; a struct that is neither null nor followed by tags is nothing but its
        fields.
        """
        plain = tuple(part for field in self.plain for part in field.wire)
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
    """The message at a version. The loader refuses structs that have no end, or as good as none."""
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
    # Records are bytes to whoever does not look into them.
    return ("string" if kind == "string" else "bytes", compact)


# Which field of one struct is which of another: those of one name, and those that only changed their name.


class Named(Protocol):
    """An item that can be paired: a field or a message."""

    @property
    def name(self) -> str:
        """The name in the definition."""


NEAR = 100
"""The number of fields without a partner that are compared to find a renamed one."""

T = TypeVar("T", bound=Named)


class Pairs(NamedTuple, Generic[T]):
    """Fields of an old struct with those of a new one: `same` in the order of the new, then what only one of them
    has.
    """

    same: tuple[tuple[T, T], ...]
    gone: tuple[T, ...]
    added: tuple[T, ...]


def pair(old: Sequence[T], new: Sequence[T], alike: Callable[[T, T], bool]) -> Pairs[T]:
    """Pair by name; of the rest those that are `alike` and stand in the same place, between fields that are paired or
    at the same end.
    """
    by_name = {item.name: item for item in old}
    partner = {item.name: by_name[item.name] for item in new if item.name in by_name}
    if len(partner) < len(new):
        partner |= _renamed(old, new, set(partner), alike)
    taken = {item.name for item in partner.values()}
    same = tuple((partner[item.name], item) for item in new if item.name in partner)
    return Pairs(
        same,
        tuple(item for item in old if item.name not in taken),
        tuple(item for item in new if item.name not in partner),
    )


def _renamed(old: Sequence[T], new: Sequence[T], paired: set[str], alike: Callable[[T, T], bool]) -> dict[str, T]:
    """The old field for each new name that took over from one."""
    renames: dict[str, T] = {}
    before = _runs(old, paired)
    for place, run in _runs(new, paired).items():
        rest, start = before.get(place, []), 0
        for item in run:
            at = next((i for i in range(start, min(start + NEAR, len(rest))) if alike(rest[i], item)), None)
            if at is not None:
                renames[item.name], start = rest[at], at + 1
    return renames


def _runs(items: Sequence[T], paired: set[str]) -> dict[str, list[T]]:
    """The items that have no partner, by the name of the paired one that they follow."""
    runs: dict[str, list[T]] = {}
    last = ""
    for item in items:
        if item.name in paired:
            last = item.name
        else:
            runs.setdefault(last, []).append(item)
    return runs


def moved(order: Iterable[int]) -> set[int]:
    """The fewest of these different numbers that have to go elsewhere for the rest to ascend."""
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


# Versions between which nothing in a definition begins or ends: what is so of one is so of its whole stretch,
# so that each is looked at once.

MOST = 100_000
"""Fields, with their structs written out, times stretches: what is looked at where each stretch is. None of Kafka's own
has 400; this many take some seconds, and those of a thousand fields that each begin at a version of their own a
minute."""


class Stretches:
    """The stretches of a definition; SpecError where looking at each of them would take too long."""

    def __init__(self, spec: MessageSpec) -> None:
        ranges = [spec.flexible_versions, *(span for _, field in fields_by_path(spec) for span in _ranges(field))]
        self._starts = sorted({bound for versions in ranges for bound in (versions.low, versions.high + 1)})
        stretches, fields = (
            sum(bound in spec.valid_versions for bound in self._starts) + 1,
            _written_out(spec, spec.fields),
        )
        if stretches * fields > MOST:
            what = (
                f"its {fields} fields change at {stretches} versions, and comparing it at each of them would take "
                f"too long"
            )
            raise SpecError(f"{what}; kwire diff MESSAGE VERSION VERSION compares two", file=spec.file)

    def of(self, version: int) -> int:
        """The number of the stretch that a version is in."""
        return bisect_right(self._starts, version)


def ranges(numbers: Iterable[int]) -> tuple[Versions, ...]:
    """Version numbers as the fewest ranges, ascending."""
    return joined(Versions(number, number) for number in numbers)


def joined(some: Iterable[Versions]) -> tuple[Versions, ...]:
    """Ranges that follow one another as one, ascending."""
    merged: list[Versions] = []
    for versions in sorted(some):
        if merged and merged[-1].high >= versions.low - 1:
            merged[-1] = Versions(merged[-1].low, max(merged[-1].high, versions.high))
        else:
            merged.append(versions)
    return tuple(merged)


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
    """A message with what became of it. `new` is None where it is gone; `lost` are versions that nothing stands for any
    more.

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
    """Every message with its successor, those that are gone with None in the order of the old, then the new ones.

    A successor is of the same name, or of the same type and apiKey under a new name. With `part` the new definitions
    are not all that there are: what is not among them is left out, and a message alone on either side is the other's
    whatever their names.
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
    """Every old message that has versions with what became of it; `part` as in `message_pairs`."""
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
    """The number of a coordinator's record type was the version of its key up to Kafka 3.9, and is its apiKey since;
    the bytes are the same.
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
    """The apiKeys of requests whose latest version is unstable."""
    specs = [message.spec for message in among.values()]
    return frozenset(
        spec.api_key
        for spec in specs
        if spec.type == "request" and spec.latest_version_unstable and spec.api_key is not None
    )


def _unreleased(given: Given, unstable: frozenset[int]) -> Versions:
    """The latest version, if it is unstable; a response has it from its request."""
    spec = given.spec
    latest = spec.latest_version_unstable or (spec.type == "response" and spec.api_key in unstable)
    return Versions(spec.valid_versions.high, spec.valid_versions.high) if latest else NONE
