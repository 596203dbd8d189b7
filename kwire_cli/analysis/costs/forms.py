"""Forms of a message, and the price of values written in a form."""

from __future__ import annotations

from dataclasses import dataclass, field as dataclass_field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import construct

from kwire_cli.engine.lower import lower
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.message.decoded import LOSSLESS_KEY
from kwire_cli.spec.model import default_value
from kwire_cli.structs.composites import SIZE_SUFFIX, UNKNOWN_KEY, MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Varint, encoded_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.engine.program import Entry, Leaf
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.ledger import Kinds, Row
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import FieldSpec, MessageSpec


T = TypeVar("T")


# How many bytes an integer takes under an encoding of KAFKA-9927: the ranges of numbers of each width, found
# by writing numbers.


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of numbers that are written in the same number of bytes: lowest, highest, bytes.

    They ascend, and no range has numbers on both sides of 0.
    """
    layout = encoded_int(kind, encoding)
    return *_ranges(layout, layout.low, -1), *_ranges(layout, max(layout.low, 0), layout.high)


def _ranges(layout: Any, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    while low <= high:
        size = len(layout.build(low))
        first = low
        last = high
        while first < last:
            middle = (first + last + 1) // 2
            if len(layout.build(middle)) == size:
                first = middle
            else:
                last = middle - 1
        yield low, last, size
        low = last + 1


# The best and the worst case of a form: the same message with each integer at a number that takes the fewest,
# or the most, bytes in its encoding.

BEST, WORST = "best", "worst"


def extreme(layout: Any, value: Any, case: str) -> Any:
    """Return the value with the integers that have a varint's encoding in `layout` at their best or worst; what does
    not fit the layout stays as it is.
    """
    if isinstance(layout, Varint):
        return 0 if case == BEST else dearest(layout.kind, encoding_name(layout))
    inner = _inner(layout)
    if isinstance(layout, MessageStruct) and isinstance(value, dict):
        return {key: extreme(inner[key], part, case) if key in inner else part for key, part in value.items()}
    if isinstance(layout, ArrayOf) and isinstance(value, list | tuple):
        return [extreme(layout.element, item, case) for item in value]
    return extreme(layout.subcon, value, case) if isinstance(layout, NullableStruct) and value is not None else value


def integers_at(layout: Any, case: str) -> dict[str, int]:
    """Return the numbers that a case has, by the encodings that `layout` uses."""
    if isinstance(layout, Varint):
        return {encoding_name(layout): extreme(layout, 0, case)}
    return {name: number for part in _inner(layout).values() for name, number in integers_at(part, case).items()}


def _inner(layout: Any) -> dict[str, Any]:
    """Return the layouts of a struct's fields by name, or that of an array's elements."""
    if isinstance(layout, MessageStruct):
        return {part.name: part.subcon for part in (*layout.subcons, *(layout.tags.known if layout.tags else ()))}
    if isinstance(layout, ArrayOf | NullableStruct):
        return {"": layout.element if isinstance(layout, ArrayOf) else layout.subcon}
    return {}


def encoding_name(layout: Varint) -> str:
    """Return the encoding of KAFKA-9927 that a varint is."""
    return f"{'' if layout.zigzag else 'u'}packed{layout.bits}"


@cache
def dearest(kind: str, encoding: str) -> int:
    """Return the number nearest to 0 that a field of type `kind` writes in the most bytes; of two the positive one."""
    rows = widths(kind, encoding)
    longest = max(size for _, _, size in rows)
    return min(
        (low if low >= 0 else high for low, high, size in rows if size == longest),
        key=lambda number: (abs(number), number < 0),
    )


# A form of a message, and what the values of one message cost in it: counted from the spans of bytes that
# were really written.


@dataclass(frozen=True)
class Form:
    """One way to write a message: a definition at a version; `flexible` overrules what the definition says of that.

    `case` is best or worst where the integers are not those of the message, but those that this form writes in the
    fewest or the most bytes.
    """

    name: str
    spec: MessageSpec
    version: int
    flexible: bool | None = None
    case: str | None = None

    @property
    def is_flexible(self) -> bool:
        """Tell whether structures end in a tag section."""
        return self.version in self.spec.flexible_versions if self.flexible is None else self.flexible

    @cached_property
    def layout(self) -> MessageStruct:
        """Return the declaration that builds the bytes."""
        return declare(self.spec, self.version, flexible=self.flexible)

    @cached_property
    def entry(self) -> Entry:
        """Return the entry that reads the bytes."""
        return lower(self.layout)

    @cached_property
    def integers(self) -> dict[str, int]:
        """Return the values of the integers in a case, by their encoding."""
        return integers_at(self.layout, self.case) if self.case else {}

    @cached_property
    def known(self) -> dict[int, tuple[Any, ...]]:
        """Facts about structs of this form, by the identity of their fields."""
        return {}

    def tagged(self, field: FieldSpec) -> bool:
        """Return whether a field is in the tag section."""
        return self.is_flexible and field.tag is not None and self.version in field.tagged_versions


class Misfit(NamedTuple):
    """Values that a form has no place for, or fields that a form needs and the values lack.

    `path` has no indexes. `value` is the first value, or the default that is written. Kafka's own writers drop lost
    values where `ignorable`, and refuse the others.
    """

    path: str
    number: int
    value: Any
    ignorable: bool = False


def count_misfits(into: dict[str, Misfit], found: Iterable[Misfit]) -> None:
    """Add misfits to those by path."""
    for one in found:
        previous = into.get(one.path)
        into[one.path] = previous._replace(number=previous.number + one.number) if previous else one


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a message's values in a form: the spans of the bytes.

    `refusal` says why nothing could be written. There are no spans then.
    """

    form: Form
    spans: Spans | None = None
    lost: tuple[Misfit, ...] = ()
    filled: tuple[Misfit, ...] = ()
    refusal: str | None = None

    @property
    def size(self) -> int | None:
        """Return the bytes; None where there are none."""
        return None if self.spans is None else self.spans.stop - self.spans.start

    @property
    def rows(self) -> list[Row]:
        """Return the bytes by field and kind of leaf; together they are the message."""
        prices = Ledger()
        if self.spans is not None:
            prices.add_spans(None, "", by_leaf, self.spans)
        return prices.rows()

    @property
    def overhead(self) -> int:
        """Return the bytes that are no field's value."""
        return sum(row.prefix_bytes for row in self.rows)


def by_leaf(leaf: Leaf) -> Kinds:
    """Return the kind of a leaf, for prefix and value alike."""
    return leaf.kind, leaf.kind


# A message's values made to fit a form: what it has no place for is taken out, what it needs beside them is
# put in at its default; both are told.

_EMPTY: dict[str, Any] = {"string": "", "bytes": "", "records": ""}


class Carried(NamedTuple):
    """The values that a form can write, those that it can't, and the fields that it needs and the values lack."""

    value: Any
    lost: tuple[Misfit, ...]
    filled: tuple[Misfit, ...]


def carried(form: Form, value: Any) -> Carried:
    """Return the values of a message (in JSON form, of whatever version) as `form` can carry them.

    A key that no version of the definition has stays where it is: writing refuses it, as it does what is no object or
    list.
    """
    walk = _Walk(form)
    body = walk.struct(form.spec.fields, value, "")
    return Carried(body, tuple(walk.lost.values()), tuple(walk.filled.values()))


def with_defaults(spec: MessageSpec, value: Any, version: int) -> Any:
    """Return the values of a message with the fields that they lack at their defaults.

    Raises EncodeError for a value that the version has no place for, unless Kafka's own writers drop it. The lossless
    form lacks no field.
    """
    if version not in spec.valid_versions or (isinstance(value, dict) and LOSSLESS_KEY in value):
        return value
    fit = carried(Form(f"version {version}", spec, version), value)
    for loss in fit.lost:
        if not loss.ignorable:
            lost = "null" if loss.value is None else "this value"
            raise EncodeError(f"version {version} has no place for {lost}", path=loss.path, value=loss.value)
    return fit.value


@dataclass
class _Walk:
    form: Form
    lost: dict[str, Misfit] = dataclass_field(default_factory=dict)
    filled: dict[str, Misfit] = dataclass_field(default_factory=dict)

    def struct(self, fields: Sequence[FieldSpec], value: Any, path: str) -> Any:
        """Return the values of a struct."""
        if not isinstance(value, dict):
            return value
        steps, names = self.steps(fields)
        out = {key: part for key, part in value.items() if key not in names}
        for field, name, here, left_out in steps:
            where = f"{path}.{name}" if path else name
            if not here:
                if name in value and not self.is_default(field, value[name]):
                    self.lose(where, value[name], ignorable=field.ignorable)
            elif name in value:
                out[name] = self.field(field, value[name], where)
            elif not left_out and name + SIZE_SUFFIX not in value:
                out[name] = self.default(field)
                count_misfits(self.filled, [Misfit(where, 1, out[name])])
        if out.get(UNKNOWN_KEY):
            self.unknown_tags(fields, out, path)
        return out

    def steps(self, fields: Sequence[FieldSpec]) -> tuple[Any, ...]:
        """The fields of a struct, each with its key, whether it is there in this form and whether it may be left out;
        and all keys.
        """
        cached = self.form.known.get(id(fields))
        if cached is None:
            rows = [
                (field, field.json_name, self.form.version in field.versions, self.form.tagged(field))
                for field in fields
            ]
            cached = self.form.known[id(fields)] = (rows, frozenset(field.json_name for field in fields))
        return cached

    def lose(self, path: str, value: Any, *, ignorable: bool) -> None:
        """Note a value that has no place."""
        count_misfits(self.lost, [Misfit(path, 1, value, ignorable)])

    def field(self, field: FieldSpec, value: Any, path: str) -> Any:
        """Return the value of a field."""
        if value is None and not self.nullable(field):
            self.lose(path, None, ignorable=False)
            return self.default(field)
        if not field.struct_name or value is None:
            return value
        subs = self.form.spec.struct_fields(field)
        if not field.is_array:
            return self.struct(subs, value, path)
        return [self.struct(subs, item, f"{path}[]") for item in value] if isinstance(value, list | tuple) else value

    def nullable(self, field: FieldSpec) -> bool:
        """Return whether null is a value of this field here. For a number, the declaration refuses null."""
        can_be = field.is_array or field.struct_name or field.type in _EMPTY
        return not can_be or self.form.version in field.nullable_versions

    def default(self, field: FieldSpec) -> Any:
        """Return the value of a field that was not given.

        This is the default, or an empty value if the default is null and the field cannot be null.
        """
        value = None if field.default == "null" else default_value(field)
        if value is None and not self.nullable(field):
            value = [] if field.is_array else {} if field.struct_name else _EMPTY[field.type]
        if value is None or not field.struct_name or field.is_array:
            return value
        return _Walk(self.form).struct(self.form.spec.struct_fields(field), {}, "")

    def is_default(self, field: FieldSpec, value: Any) -> bool:
        """Return whether omitting the value says the same."""
        if field.struct_name and not field.is_array and isinstance(value, dict) and field.default != "null":
            subs = {sub.json_name: sub for sub in self.form.spec.struct_fields(field)}
            return all(key in subs and self.is_default(subs[key], part) for key, part in value.items())
        if field.struct_name and not field.is_array and field.default != "null":
            return False
        return bool(value == (None if field.default == "null" else default_value(field)))

    def unknown_tags(self, fields: Sequence[FieldSpec], out: dict[str, Any], path: str) -> None:
        """Take out the unknown tags that can't stand here: all in an inflexible form, and those whose number a field
        has.
        """
        raw_tags = out[UNKNOWN_KEY]
        taken = {field.tag for field in fields if field.tag is not None}
        keeps = [
            self.form.is_flexible and not (isinstance(tag, dict) and tag.get("tag") in taken)
            for tag in (raw_tags if isinstance(raw_tags, list) else [])
        ]
        if all(keeps):
            return  # also what is no list: writing refuses it
        where = f"{path}.{UNKNOWN_KEY}" if path else UNKNOWN_KEY
        for tag in (tag for tag, keep in zip(raw_tags, keeps, strict=True) if not keep):
            self.lose(where, tag, ignorable=False)
        out[UNKNOWN_KEY] = [tag for tag, keep in zip(raw_tags, keeps, strict=True) if keep]
        if not out[UNKNOWN_KEY]:
            del out[UNKNOWN_KEY]


# The price of a message's values in a form: they are written, and the bytes are read again for where they
# went.


def price(form: Form, value: Any) -> Price:
    """Return the price of the values in a form. Values that cannot be written at all give a refusal.

    The values are in JSON form, records as base64 text.
    """
    fit = carried(form, value)
    try:
        data = written_form(form, extreme(form.layout, fit.value, form.case) if form.case else fit.value)
    except EncodeError as error:
        return Price(form, lost=fit.lost, filled=fit.filled, refusal=str(error))
    return Price(form, walk(form.entry, data), fit.lost, fit.filled)


def price_as_given(form: Form, decoded: Decoded) -> Price:
    """Return the price of a decoded message's bytes as they came.

    Another encoder may write the same values in fewer bytes.
    """
    return Price(form, decoded.raw)


def written_form(form: Form, value: Any) -> bytes:
    """Return the bytes of values that fit a form; EncodeError with the path where one does not."""
    try:
        return bytes(form.layout.build(value))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None


MOST_KEPT, LARGEST_KEPT = 2048, 1024


class Once(Generic[T]):
    """Results for small messages, the last MOST_KEPT different ones: captures repeat them."""

    def __init__(self) -> None:
        self._known: dict[Any, T] = {}

    def get(self, key: Any, data: bytes, make: Callable[[], T]) -> T:
        """Return the result for a message with these bytes, which `make` gives the first time."""
        found = self._known.get((key, data))
        if found is None:
            found = make()
            if len(data) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key, data] = found
        return found
