"""Text as Java's own classes and Jackson write it, to equal the output of Kafka's tools."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

# Text as Java's own classes and Jackson write it, where that is not what Python writes: what must equal the
# output of Kafka's tools.

_SMALLEST, _LARGEST = 1e-3, 1e7
"""Between these Double.toString writes no exponent."""
_ESCAPES = re.compile(r"\\(?:u00[01][0-9a-f]|.)")


def _malformed(error: UnicodeError) -> tuple[str, int]:
    """Replace malformed UTF-8 as Java does: a surrogate becomes one U+FFFD.

    Python makes a U+FFFD of each byte of a surrogate. For all else both make the same.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    second, third = data[start + 1 : start + 2], data[start + 2 : start + 3]
    if data[start] == 0xED and b"\xa0" <= second <= b"\xbf" and len(second) == 1:
        return "\ufffd", start + (3 if b"\x80" <= third <= b"\xbf" and len(third) == 1 else 2)
    return "\ufffd", error.end


codecs.register_error("java", _malformed)


def java_string(data: bytes) -> str:
    """Bytes as `new String(bytes, UTF_8)` has them: U+FFFD for what is no UTF-8."""
    return data.decode("utf-8", "java")


def java_double(number: float) -> str:
    """A number as Double.toString writes it: 75.0, 2.0E7, 1.0E-5."""
    text = repr(number)
    if not number or number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 - not a number
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)
    sign, text = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, _, power = text.partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    # The number is 0.digits times ten to this.
    exponent = int(power or 0) + (len(whole) if whole != "0" else len(part.lstrip("0")) - len(part))
    digits = digits.rstrip("0") or "0"
    if _SMALLEST <= abs(number) < _LARGEST:
        if exponent <= 0:
            return f"{sign}0.{'0' * -exponent}{digits}"
        return f"{sign}{digits[:exponent].ljust(exponent, '0')}.{digits[exponent:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent - 1}"


def jackson(document: Any) -> str:
    """A document in one line as Jackson's `JsonNode.toString` writes it; numbers that are not finite are strings
    already in Kafka's JSON form.
    """
    if isinstance(document, dict):
        return "{" + ",".join([f"{_string(key)}:{jackson(value)}" for key, value in document.items()]) + "}"
    if isinstance(document, list):
        return "[" + ",".join([jackson(value) for value in document]) + "]"
    if isinstance(document, str):
        return _string(document)
    return java_double(document) if isinstance(document, float) else json.dumps(document)


def _string(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    # Jackson writes the digits of control characters in capitals.
    return (
        _ESCAPES.sub(lambda found: "\\u" + found[0][2:].upper() if found[0][1] == "u" else found[0], quoted)
        if "\\u" in quoted
        else quoted
    )
