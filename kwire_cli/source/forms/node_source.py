"""Node: `<Buffer 00 2b>`, `Buffer.from([...])`, `Buffer.from("...", "hex")`, `Uint8Array(2) [ 0, 43 ]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire_cli.source.forms.escapes import unescape
from kwire_cli.source.forms.literals import Language, encoded, parenthesis, read_literals, string_body
from kwire_cli.source.forms.model import MismatchError, Reading, first_visible

if TYPE_CHECKING:
    from kwire_cli.source.forms.tokens import Token, Tokens


def read(text: str) -> Reading:
    """Bytes of each Buffer or Uint8Array, printed or in source; MismatchError for one that was cut when it was printed."""
    if "Buffer" not in text and "Uint8Array" not in text:
        raise MismatchError(first_visible(text), f"expected {LANGUAGE.expected}")
    return Reading(read_literals(text, LANGUAGE), "Node Buffers or Uint8Arrays")


def _printed(token: Token, _tokens: Tokens) -> bytes:
    found = re.match(r"<(?:Slow)?Buffer((?: [0-9a-fA-F]{2})*+)", token.text)
    end = found.end() if found else 0
    rest = token.text[end:]
    if found is None or rest != ">":
        if re.fullmatch(r" \.\.\. [0-9]++ more bytes?>", rest):
            raise MismatchError(
                token.start + end + 1, f"Node printed only the first bytes:{rest[4:-1]} are missing; print buffer.toString('hex')", sure=True
            )
        good = re.match(r" ?[0-9a-fA-F]?", rest)
        raise MismatchError(token.start + end + (good.end() if good else 0), "expected a byte of two hex digits, or >")
    return bytes.fromhex(found[1])


def _buffer_from(tokens: Tokens) -> bytes | None:
    """The bytes of Buffer.from(string, encoding); None when its argument is a list."""
    strings = parenthesis(tokens)
    if not strings:
        return None
    encoding = string_body(strings[1])[0].lower() if len(strings) > 1 else "utf8"
    if encoding in ("hex", "base64", "base64url"):
        return encoded(strings[0], encoding.removesuffix("url"))
    body, start = string_body(strings[0])
    # A \x escape is a character there: the same byte in latin1, and in UTF-8 as long as it is ASCII.
    data = unescape(body, start, encoding="latin-1" if encoding in ("latin1", "binary") else "utf-8")
    if encoding not in ("latin1", "binary", "ascii", "utf8", "utf-8") or (encoding.startswith("utf") and not data.isascii()):
        raise MismatchError(strings[-1].start, "expected the encoding hex, base64, base64url or latin1")
    return data


LANGUAGE = Language(
    "Node",
    "a Buffer or a Uint8Array",
    {"[": "]"},
    calls={"Buffer.from": _buffer_from},
    marks="[](){}=;,:",
    least=-128,
    buffer=_printed,
)
