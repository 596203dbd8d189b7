"""Default values of fields (the rules of Kafka's FieldSpec.fieldDefault)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import SpecError

if TYPE_CHECKING:
    from kwire_cli.spec.model import FieldSpec

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
_IMPLICIT: dict[str, Any] = {"bool": False, "float64": 0.0, "uuid": ZERO_UUID, "string": "", "bytes": "", "records": None}
_MAX_DIGITS = 40
_JAVA_FLOATS = {"NaN": "NaN", "Infinity": "Infinity", "+Infinity": "Infinity", "-Infinity": "-Infinity"}


def default_value(field: FieldSpec) -> Any:
    """A field's default in Kafka's JSON form: a number, text, [] or None; {} for a struct, whose members' defaults are the caller's to fill in.

    SpecError where the definition has none that its type can hold; loaded definitions always do.
    """
    try:
        return parse_default(field)
    except ValueError as error:
        raise SpecError(str(error), path=field.name) from error


def parse_default(field: FieldSpec) -> Any:
    """As `default_value`, but raises ValueError with the reason."""
    text, kind = field.default, field.type
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
        return _float(text)
    elif kind == "uuid":
        return _uuid(text)
    raise ValueError(f"{text!a} is not a default of the type {kind}")


def has_leading_zero(text: str) -> bool:
    """Whether a decimal number starts with a zero that Kafka's generated Java reads as an octal mark."""
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits.isdigit()


def _integer(text: str, kind: str) -> int:
    hexadecimal = text.startswith("0x")
    digits = text[2:] if hexadecimal else text[1:] if text[0] in "+-" else text
    valid = digits.isascii() and digits.isalnum() and len(digits) <= _MAX_DIGITS and (hexadecimal or digits.isdigit())
    try:
        value = int(text, 16 if hexadecimal else 10) if valid else None
    except ValueError:
        value = None
    if value is None:
        raise ValueError(f"{text!a} is not an integer in decimal or 0x notation")
    low, high = INTEGER_RANGES[kind]
    if not low <= value <= high:
        raise ValueError(f"{text} is outside the range of {kind}, {low} to {high}")
    return value


def _float(text: str) -> float | str:
    """A number as Java's Double.parseDouble reads it; NaN and infinities are texts in JSON."""
    plain = text.strip()
    if plain in _JAVA_FLOATS:
        return _JAVA_FLOATS[plain]
    if plain[-1:] in "fFdD":
        plain = plain[:-1]
    if set(plain) <= set("0123456789.eE+-"):
        value = float(plain)
        return value if abs(value) != float("inf") else _JAVA_FLOATS["Infinity" if value > 0 else "-Infinity"]
    raise ValueError(f"{text!a} is not a floating-point number")


def _uuid(text: str) -> str:
    from base64 import b64decode, urlsafe_b64encode  # noqa: PLC0415 - hardly any definition has such a default

    data = b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
    if len(data) < 16:
        raise ValueError(f"{text!a} holds {len(data)} bytes, not the 16 of a uuid")
    return urlsafe_b64encode(data[:16]).decode().rstrip("=")
