"""Java: `[0, 0, 43, -1]` as Arrays.toString prints it, `new byte[] {0, (byte) 0xff}`, `HexFormat.of().parseHex("...")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.forms.literals import Language, encoded, parenthesis, read_literals
from kwire_cli.source.forms.model import Reading

if TYPE_CHECKING:
    from kwire_cli.source.forms.tokens import Tokens


def read(text: str) -> Reading:
    """Bytes of each list, signed or not."""
    return Reading(read_literals(text, LANGUAGE), "lists of Java's signed bytes")


def _hex(tokens: Tokens) -> bytes | None:
    strings = parenthesis(tokens)
    return encoded(strings[0], "hex") if strings else None


LANGUAGE = Language(
    "Java",
    "a list of bytes, as in [0, 43, -1]",
    {"[": "]", "{": "}"},
    calls={"parseHex": _hex},
    marks="{}[]()=;,.",
    least=-128,
    casts=True,
)
