"""Backslash escapes in the string literals of C, Python and JavaScript."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import MismatchError

_SIMPLE = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, "\\": 92, "'": 39, '"': 34, "?": 63, "`": 96}
_NOT_PYTHON = "e?`"
_ESCAPE = r"[^\\]++|\\(?:x(?P<hex>[0-9a-fA-F]++)|(?P<octal>[0-7]{1,3})|(?P<fold>\n)|(?P<simple>[\s\S]))"


def unescape(body: str, start: int, *, encoding: str = "utf-8", hex_digits: int | None = 2, keep_unknown: bool = False) -> bytes:
    r"""The bytes of a literal's body, which begins at `start` of the whole text.

    Characters that are not escaped become bytes by `encoding`. `hex_digits` is how many a \x escape takes; None, as in C: all
    that follow. An unknown escape stays as it is written when `keep_unknown`, as in Python; else MismatchError.
    """
    out = bytearray()
    for found in re.finditer(_ESCAPE, body):
        at = start + found.start()
        digits, octal, simple = found["hex"], found["octal"], found["simple"]
        rest = ""
        if digits is not None:
            if hex_digits is not None:
                digits, rest = digits[:hex_digits], digits[hex_digits:]
            if len(digits) < (hex_digits or 1):
                raise MismatchError(at + 2 + len(digits), f"expected {hex_digits} hex digits after \\x")
            # Zeros in front are cut first: int() of a long text is not linear.
            if len(digits.lstrip("0")) > 2:
                raise MismatchError(at, "in C a \\x escape takes every hex digit that follows, and this one exceeds a byte; see `--input python`")
            out.append(int(digits.lstrip("0") or "0", 16))
        elif octal is not None:
            if int(octal, 8) > 255:
                raise MismatchError(at, f"the octal escape \\{octal} exceeds a byte")
            out.append(int(octal, 8))
        elif simple is not None and simple in _SIMPLE and not (keep_unknown and simple in _NOT_PYTHON):
            out.append(_SIMPLE[simple])
        elif simple is not None and (not keep_unknown or simple == "x"):
            raise MismatchError(at, f"the escape \\{simple} stands for no byte")
        elif not found["fold"]:
            rest = found[0]
        try:
            out += rest.encode(encoding)
        except UnicodeEncodeError as error:
            raise MismatchError(found.end() - len(rest) + start + error.start, f"this character is no {encoding}") from None
    return bytes(out)
