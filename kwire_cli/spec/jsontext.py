"""JSON text with the line and column of every key and list item.

The standard library reads the text, with comments replaced by blanks, since Kafka's parser (Jackson with
ALLOW_COMMENTS) skips them. A walk over the tokens of the same text then finds the places, the keys that occur twice,
and what the standard library accepts although it has no meaning in a definition.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 64
"""The depth to which objects and lists may nest; Kafka's own definitions need 12."""

Keys = tuple[str | int, ...]
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|(?P<open>\Z))', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BLANK = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')
_TOO_DEEP = f"objects and lists nest deeper than {MAX_DEPTH} levels"
_FOUND = re.compile(r"[A-Za-z0-9_.+-]{1,20}|.", re.DOTALL)


class Place(NamedTuple):
    """A line and a column, both from 1; columns count characters."""

    line: int
    column: int


@dataclass(slots=True)
class JsonText:
    """A parsed text. Paths lead to keys and list items by keys and indexes; of a duplicate key the last one counts, as
    in Kafka's parser. `trailing` is the place of text after the value.
    """

    value: Any = None
    places: dict[Keys, Place] = field(default_factory=dict)
    duplicates: list[tuple[Keys, Place]] = field(default_factory=list)
    trailing: Place | None = None

    def nearest(self, keys: Keys) -> Place:
        """Return the place of a key or list item, or of the closest thing around it that exists."""
        while keys and keys not in self.places:
            keys = keys[:-1]
        return self.places.get(keys, Place(1, 1))


def parse(text: str, file: str | None = None) -> JsonText:
    """Parse JSON text. Raise SpecError with line and column, and nothing else."""
    walk = _Walk(_COMMENT.sub(_blanked, text), file)
    start = walk.end_of_blanks(0)
    if control := _CONTROL.search(text):
        raise walk.refusal("a control character is not allowed, not even in a comment", control.start())
    try:
        value, end = json.JSONDecoder().raw_decode(walk.text, start)
    except json.JSONDecodeError as error:
        found = _FOUND.match(walk.text, error.pos)
        what = ascii(found.group()) if found else "the end of the text"
        reason = error.msg.replace("Expecting value", "expected a value").replace("Expecting", "expected")
        raise walk.refusal(f"{reason[0].lower()}{reason[1:]}, found {what}", error.pos) from None
    except RecursionError:
        raise walk.refusal(_TOO_DEEP, start) from None
    except ValueError as error:  # a number of thousands of digits
        raise walk.refusal(str(error), start) from None
    rest = walk.end_of_blanks(end)
    walk.out = JsonText(value, {(): walk.place(start)}, trailing=walk.place(rest) if rest < len(text) else None)
    walk.tokens = _TOKEN.finditer(walk.text, start, end)
    walk.value((), next(walk.tokens), 0)
    return walk.out


def _blanked(match: re.Match[str]) -> str:
    # a string, or a comment without an end, which is invalid
    if match[1] or match["open"] is not None:
        return match[0]
    return re.sub(r"[^\n]", " ", match[0])


class _Walk:
    """A walk over the tokens of valid JSON text, which fills in `out`."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.out = JsonText()
        self.tokens: Iterator[re.Match[str]] = iter(())

    def place(self, at: int) -> Place:
        line = bisect_right(self.lines, at)
        return Place(line, at - self.lines[line - 1] + 1)

    def refusal(self, message: str, at: int) -> SpecError:
        place = self.place(at)
        return SpecError(message, file=self.file, line=place.line, column=place.column)

    def end_of_blanks(self, at: int) -> int:
        blanks = _BLANK.match(self.text, at)
        return blanks.end() if blanks else at

    def value(self, keys: Keys, first: re.Match[str], depth: int) -> None:
        """Walk over the value that begins with a token."""
        mark = first.group()
        out = self.out
        if depth >= MAX_DEPTH and mark in {"{", "["}:
            raise self.refusal(_TOO_DEEP, first.start())
        if mark == "{":
            names: set[str] = set()
            for key in self.items("}"):
                name = self.string(key)
                place = self.place(key.start())
                if name in names:
                    out.duplicates.append(((*keys, name), place))
                names.add(name)
                out.places[*keys, name] = place
                next(self.tokens)  # the colon
                self.value((*keys, name), next(self.tokens), depth + 1)
        elif mark == "[":
            for index, item in enumerate(self.items("]")):
                out.places[*keys, index] = self.place(item.start())
                self.value((*keys, index), item, depth + 1)
        elif mark[0] == '"':
            self.string(first)
        elif mark in {"NaN", "Infinity", "-Infinity"}:
            raise self.refusal(f"expected a value, found {mark!r}", first.start())

    def items(self, closing: str) -> Iterator[re.Match[str]]:
        """Yield the first token of each item up to the end of an object or list."""
        while (token := next(self.tokens)).group() != closing:
            if token.group() != ",":
                yield token

    def string(self, token: re.Match[str]) -> str:
        text: str = json.loads(token.group())
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self.refusal("this string holds half a surrogate pair", token.start()) from None
        return text
