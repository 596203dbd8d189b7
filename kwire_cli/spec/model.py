"""The model of a message definition: versions, fields, default values, changed copies.

The model is plain data: other modules read it from JSON, check it and declare layouts from it. Its objects are frozen,
because layouts are cached by definition; a change returns a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.files import read_bundled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


# Version ranges of messages and fields (Kafka's `Versions` class): `none`, `3`, `0-9`, `9+`.

_TRIMMED = "".join(map(chr, range(33)))

MAX = 32767
"""The highest version a message can have (int16); `9+` means 9 to MAX."""


def trim(text: str) -> str:
    """Return the text without control characters and blanks at its ends, as Java's String.trim does."""
    return text.strip(_TRIMMED)


class Versions(NamedTuple):
    """The versions `low` to `high`, both included; empty where low > high."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse Kafka's notation. Raise ValueError with a reason for other text."""
        text = trim(text)
        if text in {"", "none"}:
            return NONE
        low, mark, high = text.partition("-")
        if text.endswith("+"):
            mark = "+"
            low = text[:-1]
            high = str(MAX)
        if not _is_number(low) or (mark and not _is_number(high)):
            raise ValueError(f"{text!r} is not a version range; expected none, 3, 0-9 or 9+")
        versions = cls(int(low), int(high) if mark else int(low))
        if versions.high > MAX or versions.low > MAX:
            raise ValueError(f"{text!r} goes beyond the highest version, {MAX}")
        return versions

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == MAX:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    def __and__(self, other: Versions) -> Versions:
        both = Versions(max(self.low, other.low), min(self.high, other.high))
        return both or NONE

    def covers(self, other: Versions) -> bool:
        """Return whether every version of `other` is in this range."""
        return not other or (self.low <= other.low and other.high <= self.high)

    def each(self) -> Iterator[int]:
        """Return every version, ascending."""
        return iter(range(self.low, self.high + 1))


NONE = Versions(0, -1)


def ranges(numbers: Iterable[int]) -> tuple[Versions, ...]:
    """Return version numbers as the fewest ranges, ascending."""
    return joined(Versions(number, number) for number in numbers)


def joined(some: Iterable[Versions]) -> tuple[Versions, ...]:
    """Return ranges with adjacent ones merged, ascending."""
    merged: list[Versions] = []
    for versions in sorted(some):
        if merged and merged[-1].high >= versions.low - 1:
            merged[-1] = Versions(merged[-1].low, max(merged[-1].high, versions.high))
        else:
            merged.append(versions)
    return tuple(merged)


def _is_number(text: str) -> bool:
    """Return whether Java's Short.parseShort accepts a string; it allows a plus and the digits of any script."""
    digits = text.removeprefix("+")
    return digits.isdecimal() and len(digits) <= _MAX_DIGITS


# The contents of a message definition as plain data: Kafka's MessageSpec, StructSpec and FieldSpec, plus the `encoding`
# keys of KAFKA-9927.

MAX_NESTING = 48


MAX_FIELDS = 100_000
"""Limits of a layout with its structs written out, so that code that follows it needs no limits. Kafka's nest 7 deep
and have under 100 fields."""

FIXED_TYPES = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "uuid", "float64")
PRIMITIVE_TYPES = (*FIXED_TYPES, "string", "bytes", "records")


class Encoding(NamedTuple):
    """One entry of an `encoding` key (KAFKA-9927): in `versions` the integer is written as `name`, such as packed32."""

    versions: Versions
    name: str


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a message or struct. `fields` are the sub-fields of a struct or of an array of structs declared in
    place. `about` is Kafka's own text, which only the definitions in Kafka's jars and sources have.
    """

    name: str
    type: str
    versions: Versions
    nullable_versions: Versions = NONE
    tagged_versions: Versions = NONE
    tag: int | None = None
    flexible_versions: Versions | None = None
    default: str | None = None
    ignorable: bool = False
    map_key: bool = False
    zero_copy: bool = False
    entity_type: str | None = None
    fields: tuple[FieldSpec, ...] = ()
    encoding: tuple[Encoding, ...] = ()
    element_encoding: tuple[Encoding, ...] = ()
    about: str = ""

    @property
    def is_array(self) -> bool:
        """Return whether the type is an array."""
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        """The type of the elements of an array; otherwise the type itself."""
        return self.type.removeprefix("[]")

    @property
    def struct_name(self) -> str | None:
        """The name of the struct that the type or its elements are, if they are one."""
        return self.element_type if self.element_type[:1].isupper() else None

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form: the name with its first letter in lower case."""
        return self.name[:1].lower() + self.name[1:]


if TYPE_CHECKING:
    Change = Callable[[str, FieldSpec], FieldSpec]


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct of `commonStructs`."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]
    deprecated_versions: Versions = NONE


HeaderVersions = tuple[tuple[Versions, int], ...]


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message definition. `type` is request, response, header, metadata, data, coordinator-key or
    coordinator-value.
    """

    name: str
    type: str
    valid_versions: Versions
    flexible_versions: Versions
    fields: tuple[FieldSpec, ...]
    api_key: int | None = None
    deprecated_versions: Versions = NONE
    common_structs: tuple[StructSpec, ...] = ()
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    header_versions: HeaderVersions = ()
    file: str | None = None

    def __hash__(self) -> int:
        """Hash the keys that distinguish most definitions: a hash of all fields takes as long as reading a message."""
        return hash((self.name, self.api_key, self.valid_versions))

    def struct_fields(self, field: FieldSpec) -> tuple[FieldSpec, ...]:
        """Return the sub-fields of a struct-typed field: its own, else the common struct's of that name, else ()."""
        if field.fields:
            return field.fields
        return next((s.fields for s in self.common_structs if s.name == field.struct_name), ())


class Entry(NamedTuple):
    """A definition as known before it is read.

    `module` is Kafka's, for records: their api keys are unique within a module.
    """

    name: str
    type: str
    api_key: int | None
    valid_versions: Versions
    flexible_versions: Versions
    file: str
    aliases: tuple[str, ...] = ()
    module: str | None = None
    header_versions: HeaderVersions = ()


# The fields of a definition by path, and a definition with changed fields: the base of overlays, what-if prices and
# advice.


def fields_by_path(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Yield every field of every version with its path in JSON names, each before its sub-fields: topics,
    topics[].partitions, topics[].partitions[].leaderId.

    An array has its own name as path, its elements the name with []. A common struct is walked at each use.
    """
    yield from _walk(spec, spec.fields, "", 0)


def free_tags(spec: MessageSpec) -> dict[str, int]:
    """Return the first tag after those of each struct that has tags, by the path of the struct in the message."""
    free: dict[str, int] = {}
    for path, field in fields_by_path(spec):
        if field.tag is not None:
            struct = path.rpartition(".")[0]
            free[struct] = max(free.get(struct, 0), field.tag + 1)
    return free


def changed(spec: MessageSpec, change: Change) -> MessageSpec:
    """Return the definition with each field replaced by the result of `change`, which gets the path and the field with
    its changed sub-fields.

    Common structs are written out at each use, so that each use can be changed separately.
    """
    return replace(spec, fields=_changed(spec, spec.fields, "", 0, change))


def _walk(spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str, depth: int) -> Iterator[tuple[str, FieldSpec]]:
    _bound(spec, depth)
    for field in fields:
        path = above + field.json_name
        yield path, field
        if field.struct_name:
            yield from _walk(spec, spec.struct_fields(field), inside(path, field), depth + 1)


def _changed(
    spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str, depth: int, change: Change
) -> tuple[FieldSpec, ...]:
    _bound(spec, depth)
    out = []
    for field in fields:
        path = above + field.json_name
        inner = (
            _changed(spec, spec.struct_fields(field), inside(path, field), depth + 1, change)
            if field.struct_name
            else ()
        )
        out.append(change(path, replace(field, fields=inner)))
    return tuple(out)


def inside(path: str, field: FieldSpec) -> str:
    """Return the beginning of the paths of the fields in a struct, or in the elements of an array."""
    return f"{path}[]." if field.is_array else f"{path}."


def _bound(spec: MessageSpec, depth: int) -> None:
    if depth > MAX_NESTING:
        raise SpecError(f"structs nest deeper than {MAX_NESTING} levels", file=spec.file, path=spec.name)


# Names of values: the lists of specs/enums.json, by the field that holds them.


class Enums:
    """Lists of named values, found by the path of a field: MetadataResponse.Topics.TopicAuthorizedOperations, in any
    case.
    """

    def __init__(self, lists: Mapping[str, Mapping[str, Any]]) -> None:
        self._values: dict[str, dict[str, str]] = {}
        self._bits: dict[str, dict[str, str]] = {}
        for row in lists.values():
            for key, table in (("fields", self._values), ("bitSetFields", self._bits)):
                for path in row.get(key, ()):
                    table.setdefault(path.lower(), {}).update(row["values"])

    def names(self, path: str) -> Mapping[str, str]:
        """Return the names of the values of the field at `path`, by the value as text; empty without names."""
        return self._values.get(path.lower(), {})

    def name(self, path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
        """Return the name of a value of the field at `path`, or None; for a bit set the names of its bits, joined
        by |.
        """
        code = str(value).lower() if isinstance(value, bool) else str(value)
        name = self._values.get(path.lower(), {}).get(code)
        if name:
            # If the value is the name of a state itself ("Stable", STABLE), the name adds no information.
            is_same = isinstance(value, str) and name.replace("_", "").lower() == value.replace("_", "").lower()
            return None if is_same else name
        bits = self._bits.get(path.lower())
        return _bit_names(bits, value) if bits and isinstance(value, int) else None


def field_at(spec: MessageSpec, path: str) -> FieldSpec | None:
    """Return the field at a path without indexes (Topics.Partitions.ErrorCode), in any case."""
    fields = spec.fields
    field_spec = None
    for name in path.lower().split("."):
        field_spec = next((field for field in fields if field.name.lower() == name), None)
        if not field_spec:
            return None
        fields = spec.struct_fields(field_spec)
    return field_spec


def _bit_names(bits: Mapping[str, str], value: int) -> str | None:
    names = [name for code, name in bits.items() if value >> int(code) & 1]
    rest = value & 0xFFFFFFFF & ~sum(1 << int(code) for code in bits)
    return "|".join([*names, f"0x{rest:x}"] if rest else names) or None


# Default values of fields (the rules of Kafka's FieldSpec.fieldDefault).

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's Uuid.ZERO_UUID as text: 16 zero bytes in url-safe base64 without padding."""


INTEGER_RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
_IMPLICIT: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": "",
    "records": None,
}
_MAX_DIGITS = 400
_JAVA_FLOATS = {
    **dict.fromkeys(("NaN", "+NaN", "-NaN"), "NaN"),
    "Infinity": "Infinity",
    "+Infinity": "Infinity",
    "-Infinity": "-Infinity",
}


def default_value(field: FieldSpec) -> Any:
    """Return a field's default in Kafka's JSON form: a number, text, [] or None.

    A struct has {}: the caller adds its members' defaults. Raise SpecError if the definition has a default that its
    type cannot have; loaded definitions are always valid.
    """
    try:
        return parse_default(field)
    except ValueError as error:
        raise SpecError(str(error), path=field.name) from error


def parse_default(field: FieldSpec) -> Any:
    """Return the default as `default_value` does, but raise ValueError with the reason."""
    text = field.default
    kind = field.type
    if not text:
        if field.is_array:
            return []
        return {} if field.struct_name else _IMPLICIT.get(kind, 0)
    if text == "null" and (kind in {"string", "bytes", "records"} or field.is_array or field.struct_name):
        return None
    if kind == "string":
        return text
    if kind == "bool":
        if text.lower() in {"true", "false"}:
            return text.lower() == "true"
    elif kind in INTEGER_RANGES:
        return _integer(text, kind)
    elif kind == "float64":
        return _parse_float(text)
    elif kind == "uuid":
        return _uuid(text)
    raise ValueError(f"{text!a} is not a default of the type {kind}")


def is_java_literal(text: str) -> bool:
    """Return whether Java, in which Kafka's generator writes the default, reads the same integer.

    Java takes a leading zero for an octal number, and has neither a sign after 0x nor digits of other scripts.
    """
    hexadecimal = text.startswith("0x")
    digits = text[2:] if hexadecimal else text.lstrip("+-")
    return digits.isascii() and digits.isalnum() and (hexadecimal or digits == "0" or digits[0] != "0")


def _integer(text: str, kind: str) -> int:
    hexadecimal = text.startswith("0x")
    number = text.removeprefix("0x") or "0"
    digits = number[1:] if number[:1] in {"+", "-"} else number
    valid = digits.isalnum() and len(digits) <= _MAX_DIGITS
    try:
        value = int(number, 16 if hexadecimal else 10) if valid else None
    except ValueError:
        value = None
    if value is None:
        raise ValueError(f"{text!a} is not an integer in decimal or 0x notation")
    low, high = INTEGER_RANGES[kind]
    if not low <= value <= high:
        raise ValueError(f"{text} is outside the range of {kind}, {low} to {high}")
    return value


def _parse_float(text: str) -> float | str:
    """Parse a number as Java's Double.parseDouble does; NaN and infinities are strings in JSON."""
    plain = trim(text)
    if plain in _JAVA_FLOATS:
        return _JAVA_FLOATS[plain]
    if plain[-1:] in {"f", "F", "d", "D"}:
        plain = plain[:-1]
    if plain.lstrip("+-")[:2].lower() == "0x" and "p" in plain.lower():
        return float.fromhex(plain)
    if set(plain) <= set("0123456789.eE+-"):
        value = float(plain)
        return value if abs(value) != float("inf") else _JAVA_FLOATS["Infinity" if value > 0 else "-Infinity"]
    raise ValueError(f"{text!a} is not a floating-point number")


def _uuid(text: str) -> str:
    from base64 import b64decode, urlsafe_b64encode  # noqa: PLC0415 - hardly any definition has such a default

    padded = text if "=" in text else text + "=" * (-len(text) % 4)
    data = b64decode(padded, altchars=b"-_", validate=True)
    if len(data) < 16:
        raise ValueError(f"{text!a} holds {len(data)} bytes, not the 16 of a uuid")
    return urlsafe_b64encode(data[:16]).decode().rstrip("=")


# Which version of a header goes with a version of a request or response (Kafka's ApiMessageType).


def check_version(spec: MessageSpec, version: int | None = None) -> None:
    """Raise InputError if a message does not have a version, or no version at all."""
    if not spec.valid_versions:
        raise InputError(f"{spec.name} is reserved: no version of it is valid")
    if version is not None and version not in spec.valid_versions:
        raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")


def header_version_of(message: MessageSpec | Entry, version: int) -> int | None:
    """Return the header version by headerVersions (KIP-1313), by Kafka's exceptions, else by whether the version is
    flexible. Return None for a message without a header.
    """
    if message.type not in {"request", "response"}:
        return None
    exceptions = _exceptions().get((message.api_key, message.type), ())
    for versions, header in (*message.header_versions, *exceptions):
        if version in versions:
            return header
    return (version in message.flexible_versions) + (message.type == "request")


@cache
def _exceptions() -> dict[tuple[int | None, str], HeaderVersions]:
    rows = read_bundled("header-versions.json")["exceptions"]
    return {(row["apiKey"], row["type"]): ((Versions.parse(row["versions"]), row["headerVersion"]),) for row in rows}
