"""JSON: `[0, 0, 0, 43]` and `{"type": "Buffer", "data": [0, 0, 0, 43]}`, also several, or inside other arrays and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.forms.literals import Language, read_literals
from kwire_cli.source.forms.model import MismatchError, Reading

if TYPE_CHECKING:
    from kwire_cli.source.forms.tokens import Token, Tokens


def read(text: str) -> Reading:
    """Bytes of each array of ints from 0 to 255."""
    return Reading(read_literals(text, LANGUAGE), "JSON arrays of ints")


def _string(token: Token, tokens: Tokens) -> None:
    """Nothing: a string is a key, or the type of what Node's Buffer.toJSON writes."""
    if tokens.peek().text != ":" and token.text != '"Buffer"':
        raise MismatchError(token.start, "expected an array of ints from 0 to 255")


LANGUAGE = Language("JSON", "a JSON array of ints from 0 to 255", {"[": "]"}, string=_string, marks="[]{},:")
