"""Values without a schema: JSON, text, and numbers and UUIDs of fixed size, as Kafka's serializers write them.

Source: org.apache.kafka.common.serialization.
"""

from __future__ import annotations

import json
import re
import struct
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from kwire_cli.records.schemas.model import UnfitError, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


DEEPEST = 200
"""The deepest nesting of a value or schema. The JSON writer takes 254 levels, some of which are around the value."""


_TOO_DEEP = f"the JSON nests more than {DEEPEST} levels deep"
_LONG, MOST_DIGITS = re.compile(rb"\d{19}"), 21
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Fixed(NamedTuple):
    """Values of one size."""

    size: int
    read: Callable[[bytes], Any]


def finite(value: float) -> float | str:
    """Return a number, or its text in JSON if the number is not finite."""
    return value if value - value == 0 else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]


def _signed(data: bytes) -> int:
    return int.from_bytes(data, signed=True)


FIXED = {
    "short": Fixed(2, _signed),
    "int": Fixed(4, _signed),
    "long": Fixed(8, _signed),
    "float": Fixed(4, lambda data: finite(struct.unpack(">f", data)[0])),
    "double": Fixed(8, lambda data: finite(struct.unpack(">d", data)[0])),
}


def fixed(name: str, data: bytes, start: int) -> Value:
    """Return a number of fixed size."""
    kind = FIXED[name]
    if len(data) - start != kind.size:
        raise UnfitError(f"a value of format {name} has {kind.size} bytes, not {len(data) - start}")
    return Value(kind.read(data[start:]))


def boolean(data: bytes, start: int) -> Value:
    """Return a boolean, as BooleanSerializer writes it."""
    if data[start:] not in (b"\0", b"\1"):
        raise UnfitError("a value of format boolean is one byte, 0 or 1")
    return Value(data[start:] == b"\1")


def uuid(data: bytes, start: int) -> Value:
    """Return a UUID from 16 bytes, or from the text that UUIDSerializer writes."""
    data = data[start:]
    try:
        return Value(str(UUID(bytes=data)) if len(data) == 16 else str(UUID(data.decode("ascii"))))
    except ValueError:
        raise UnfitError("the bytes are not a UUID, neither as 16 bytes nor as text") from None


def text(data: bytes, start: int) -> Value:
    """Return UTF-8 text."""
    try:
        return Value(str(data[start:], "utf-8"))
    except UnicodeDecodeError as error:
        raise UnfitError(f"byte {start + error.start} is not UTF-8") from None


def json_value(data: bytes, start: int) -> Value:
    """Return a JSON value."""
    integer = _integer if _LONG.search(data, start) else int
    try:
        value = document_of(data[start:], parse_constant=_constant, parse_float=_number, parse_int=integer)
    except UnicodeDecodeError:
        raise UnfitError("the bytes are not UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnfitError(f"not JSON at character {error.pos}: {error.msg}") from None
    except ValueError as error:
        raise UnfitError(str(error)) from None
    return Value(_without_surrogates(value) if _SURROGATE.search(data, start) else value)


def document_of(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text. ValueError if the text is not JSON, or nests more than DEEPEST levels deep.

    `hooks` are those of `json.loads`.
    """
    try:
        value = json.loads(text, **hooks)
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise
    except ValueError:
        raise ValueError("a number in the JSON is too long") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    brackets = (text.count("[") + text.count("{")) if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if brackets > DEEPEST and depth_of(value) > DEEPEST:
        raise ValueError(_TOO_DEEP)
    return value


def _integer(text: str) -> int | str:
    """Return an integer, or its text if it has more than 64 bits, which few JSON readers accept."""
    if len(text) > MOST_DIGITS:
        return text
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 64 else text


def _without_surrogates(value: Any) -> Any:
    """Return a value with U+FFFD instead of lone surrogates."""
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(part) for part in value]
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if isinstance(value, str) else value


def _constant(name: str) -> str:
    return name


def _number(text: str) -> float | str:
    return finite(float(text))


def depth_of(value: Any) -> int:
    """Return how deep a value in JSON form nests."""
    level = [value]
    depth = -1
    while level:
        depth += 1
        level = list(chain.from_iterable(map(_parts, level)))
    return depth


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
