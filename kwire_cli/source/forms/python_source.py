"""Python: `b'...'`, `bytes.fromhex("...")`, `bytearray([...])`, lists of ints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.forms.escapes import unescape
from kwire_cli.source.forms.literals import Language, encoded, parenthesis, read_literals, string_body
from kwire_cli.source.forms.model import MismatchError, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.source.forms.tokens import Token, Tokens


def read(text: str) -> Reading:
    """Bytes of each literal; as in Python, literals on lines of their own are continued only inside brackets."""
    return Reading(read_literals(text, LANGUAGE), "Python bytes literals or lists of ints")


def _string(token: Token, _tokens: Tokens) -> bytes:
    body, start = string_body(token)
    prefix = token.text.partition(token.text[-1])[0].lower()
    if prefix not in ("b", "rb", "br"):
        raise MismatchError(token.start, "expected a bytes literal, as in b'...', not a string")
    if "r" in prefix:
        return unescape(body.replace("\\", "\\\\"), start, encoding="ascii")
    return unescape(body, start, encoding="ascii", keep_unknown=True)


def _decoder(form: str) -> Callable[[Tokens], bytes | None]:
    def decode(tokens: Tokens) -> bytes | None:
        strings = parenthesis(tokens)
        return b"".join(encoded(string, form) for string in strings) if strings else None

    return decode


_HEX, _BASE64 = _decoder("hex"), _decoder("base64")

LANGUAGE = Language(
    "Python",
    "a Python bytes literal or a list of ints",
    {"[": "]"},
    string=_string,
    calls={
        "bytes.fromhex": _HEX,
        "bytearray.fromhex": _HEX,
        "unhexlify": _HEX,
        "binascii.unhexlify": _HEX,
        "b64decode": _BASE64,
        "base64.b64decode": _BASE64,
    },
    marks="[]()=;,:|",
    joins="+",
    lines=True,
)
