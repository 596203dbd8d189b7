r"""C: `{0x00, 0x2b}`, `"\x00\x2b"`, strings side by side, what `xxd -i` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.forms.escapes import unescape
from kwire_cli.source.forms.literals import Language, read_literals, string_body
from kwire_cli.source.forms.model import MismatchError, Reading

if TYPE_CHECKING:
    from kwire_cli.source.forms.tokens import Token, Tokens


def read(text: str) -> Reading:
    """Bytes of each array and string; a string's closing NUL is not among them."""
    return Reading(read_literals(text, LANGUAGE), "C arrays or strings")


def _string(token: Token, _tokens: Tokens) -> bytes:
    if token.text[0].isalpha():
        raise MismatchError(token.start, "expected a string of plain chars, without a prefix")
    body, start = string_body(token)
    return unescape(body, start, hex_digits=None)


LANGUAGE = Language("C", "a C array or string", {"{": "}"}, string=_string, marks="{}[]()=;,*", least=-128, casts=True)
