"""Numbers and varints, and the paths of values in errors.

Each construct has a `read` for the engine, which converts the bytes of a span. construct's own parsing is mainly used
by tests, and its building by the encoder.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from typing import Any

import construct

from kwire_cli.errors import EncodeError, json_kind
from kwire_cli.spec.model import INTEGER_RANGES

# Where in a message a declaration is at work: construct's own path text, turned into kwire's paths.

MAX_SHOWN = 80


def field_path(path: str) -> str:
    """Return a path of construct as a field path: `(building) -> topics -> [0] -> name` as `topics[0].name`."""
    out = ""
    for part in path.split(" -> ")[1:]:
        out += part if part.startswith("[") or not out else f".{part}"
    return out


def shown(value: Any) -> str:
    """Return a value for an error message, truncated if it is long."""
    try:
        text = repr(value)
    except (
        ValueError,
        RecursionError,
    ):  # Python prints no ints of more than 4300 digits, and no lists that nest as deep
        return f"a huge {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


# Numbers, booleans and uuids as Kafka writes them, with the integer encodings of KAFKA-9927.
#
# Values have Kafka's JSON form: ints, bools, floats (NaN and infinities as text), uuids as url-safe base64 without
# padding. Source: org.apache.kafka.common.protocol.types.Type, ByteUtils (varints), Uuid.

RANGES = INTEGER_RANGES


_FORMATS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "l", "uint32": "L", "int64": "q"}
_FLOAT_TEXT = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def checked_int(value: Any, low: int, high: int, what: str, path: str) -> int:
    """Return `value` if it is an int from `low` to `high`. Raise EncodeError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise EncodeError(f"{what} takes an integer, not {json_kind(value)}", path=field_path(path), value=value)
    if not low <= value <= high:
        raise EncodeError(f"{shown(value)} does not fit {what} ({low} to {high})", path=field_path(path), value=value)
    return value


def wider_than(kind: str, wire: tuple[int, int]) -> tuple[int, int] | None:
    """Return the range of a field's type if numbers of its wire form can exceed it, or None."""
    low, high = RANGES.get(kind, wire)
    return (low, high) if wire[0] < low or wire[1] > high else None


class FixedInt(construct.FormatField):
    """A big-endian integer; `kind` is the field's type, `wire` the type it is written as (KAFKA-9927's fixed16, 32, 64
    may differ).
    """

    def __init__(self, kind: str, wire: str | None = None) -> None:
        self.kind = kind
        self.wire = wire or kind
        super().__init__(">", _FORMATS[self.wire])
        self.low = max(RANGES[kind][0], RANGES[self.wire][0])
        self.high = min(RANGES[kind][1], RANGES[self.wire][1])
        self.declared = wider_than(kind, RANGES[self.wire])

    def __repr__(self) -> str:
        return self.kind.upper() if self.kind == self.wire else f"{self.kind.upper()} as fixed{8 * self.length}"

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        what = self.kind if self.kind == self.wire else f"{self.kind} written as {self.wire}"
        return super()._build(checked_int(obj, self.low, self.high, what, path), stream, context, path)

    def read(self, data: Any) -> int:
        """Return the number in these bytes. It is promoted to the field's type, which may be wider or narrower."""
        return int.from_bytes(data, "big", signed=self.wire[0] == "i")


class Bool(construct.Construct):
    """One byte; any byte but 0 reads as true, 0 or 1 is written."""

    kind = "bool"
    length = 1

    def __repr__(self) -> str:
        return "BOOLEAN"

    def _parse(self, stream: Any, context: Any, path: str) -> bool:
        return bool(construct.stream_read(stream, 1, path) != b"\0")

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> bool:
        if not isinstance(obj, bool):
            raise EncodeError(f"bool takes true or false, not {shown(obj)}", path=field_path(path), value=obj)
        construct.stream_write(stream, b"\1" if obj else b"\0", 1, path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return 1

    def read(self, data: Any) -> bool:
        """Return the value of this byte."""
        return bool(data[0])


class Float64(construct.FormatField):
    """IEEE 754, big-endian. NaN and infinities are the texts NaN, Infinity and -Infinity, as Kafka's JSON has them."""

    kind = "float64"

    def __init__(self) -> None:
        super().__init__(">", "d")

    def __repr__(self) -> str:
        return "FLOAT64"

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self.read(construct.stream_read(stream, 8, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        value = _FLOAT_TEXT.get(obj, obj) if isinstance(obj, str) else obj
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise EncodeError(
                f"float64 takes a number, NaN, Infinity or -Infinity, not {shown(obj)}",
                path=field_path(path),
                value=obj,
            )
        try:
            super()._build(float(value), stream, context, path)
        except OverflowError:
            raise EncodeError(f"{shown(value)} does not fit float64", path=field_path(path), value=obj) from None
        return obj

    def read(self, data: Any) -> float | str:
        """Return the number in these 8 bytes."""
        (value,) = struct.unpack(">d", data)
        if math.isfinite(value):
            return float(value)
        if math.isnan(value):
            return "NaN"
        return "Infinity" if value > 0 else "-Infinity"


def uuid_text(data: Any) -> str:
    """Return the text of a uuid's 16 bytes, as Kafka's Uuid writes it."""
    return base64.urlsafe_b64encode(data)[:-2].decode("ascii")


class Uuid(construct.Construct):
    """16 bytes, shown as url-safe base64 without padding; zero bytes stand for no uuid."""

    kind = "uuid"
    length = 16

    def __repr__(self) -> str:
        return "UUID"

    def _parse(self, stream: Any, context: Any, path: str) -> str:
        return self.read(construct.stream_read(stream, 16, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        try:
            data = base64.b64decode(obj + "=" * (-len(obj) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError, TypeError):
            data = b""
        if len(data) != 16:
            raise EncodeError(
                f"uuid takes 22 characters of url-safe base64 (16 bytes), not {shown(obj)}",
                path=field_path(path),
                value=obj,
            )
        construct.stream_write(stream, data, 16, path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return 16

    def read(self, data: Any) -> str:
        """Return the text of these 16 bytes."""
        return uuid_text(data)


class Varint(construct.Construct):
    """A variable-length integer of `bits` 16, 32 or 64: zig-zag (packed) or the unsigned bits of the two's complement
    (upacked).

    Readers accept overlong forms and drop bits above the width, as ByteUtils does; a form of more than ceil(bits / 7)
    bytes is an error. The upacked form of a negative number encodes its bits at the width: -1 is `ff ff 03` as
    upacked16.
    """

    def __init__(self, kind: str, bits: int, *, zigzag: bool) -> None:
        super().__init__()
        self.kind = kind
        self.bits = bits
        self.zigzag = zigzag
        self.max_bytes = -(-bits // 7)
        low, high = RANGES.get(kind, (0, (1 << 31) - 1))
        self.low = max(low, -(1 << (bits - 1)))
        self.high = min(high, (1 << (bits - 1)) - 1)
        self.declared = wider_than(kind, RANGES[f"int{bits}"])

    def __repr__(self) -> str:
        if self.kind == "uvarint":
            return "UNSIGNED_VARINT"
        name = {("int32", 32): "VARINT", ("int64", 64): "VARLONG"}.get((self.kind, self.bits)) if self.zigzag else None
        return name or f"{self.kind.upper()} as {'' if self.zigzag else 'u'}packed{self.bits}"

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        data = bytearray()
        while True:
            data += construct.stream_read(stream, 1, path)
            if data[-1] < 0x80:
                return self.read(data)
            if len(data) == self.max_bytes:
                raise construct.IntegerError(f"varint longer than {self.max_bytes} bytes", path=path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        what = (
            f"{self.kind} written as {'' if self.zigzag else 'u'}packed{self.bits}"
            if self.kind in RANGES
            else "unsigned varint"
        )
        value = checked_int(obj, self.low, self.high, what, path)
        bits = (value << 1) ^ (value >> (self.bits - 1)) if self.zigzag else value
        data = unsigned_varint(bits & ((1 << self.bits) - 1))
        construct.stream_write(stream, data, len(data), path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("a varint has no fixed size", path=path)

    def read(self, data: Any) -> int:
        """Return the number in these bytes."""
        value = 0
        for shift, byte in enumerate(data):
            value |= (byte & 0x7F) << (7 * shift)
        value &= (1 << self.bits) - 1
        if self.zigzag:
            return (value >> 1) ^ -(value & 1)
        return value - (1 << self.bits) if value >> (self.bits - 1) else value


def unsigned_varint(value: int) -> bytes:
    """Encode a number from 0 up in groups of 7 bits, lowest first, the high bit set on all but the last (KIP-482)."""
    out = bytearray()
    while value > 0x7F:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


INTS = {kind: FixedInt(kind) for kind in RANGES}
BOOL = Bool()
FLOAT64 = Float64()
UUID = Uuid()
UVARINT = Varint("uvarint", 32, zigzag=False)
"""Lengths, counts, tags and sizes of flexible versions."""
ZIGZAG = Varint("int32", 32, zigzag=True)
"""The varint of records (org.apache.kafka.common.utils.ByteUtils): 1 to 5 bytes."""
ZIGZAG_LONG = Varint("int64", 64, zigzag=True)
"""The varlong of records: 1 to 10 bytes."""

FIXED: dict[str, Any] = {**INTS, "bool": BOOL, "float64": FLOAT64, "uuid": UUID}


def encoded_int(kind: str, encoding: str) -> FixedInt | Varint:
    """Return the integer of type `kind` under an `encoding` of KAFKA-9927, such as packed32."""
    name = encoding[:-2]
    bits = int(encoding[-2:])
    return FixedInt(kind, f"int{bits}") if name == "fixed" else Varint(kind, bits, zigzag=name == "packed")
