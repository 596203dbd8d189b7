"""JSON text with the line and column of everything in it.

Neither the standard library nor any maintained package keeps positions together with comments, duplicate keys and
trailing tokens, which Kafka's parser (Jackson with ALLOW_COMMENTS, FAIL_ON_TRAILING_TOKENS) and a useful error message
need.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from kwire_cli.errors import SpecError

MAX_DEPTH = 64
"""The depth to which objects and lists may nest; Kafka's own definitions need 12."""

Keys = tuple[str | int, ...]
_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,20}|.", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LITERALS = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MAX_DIGITS = 400
"""Longer numbers are refused: none has a meaning here, and turning them into ints takes quadratic time."""


class Place(NamedTuple):
    """A line and a column, both from 1; columns count characters."""

    line: int
    column: int


@dataclass(slots=True)
class JsonText:
    """A parsed text. Paths lead to values by keys and list indexes; of a duplicate key the last one counts, as in
    Kafka's parser.
    """

    value: Any = None
    places: dict[Keys, Place] = field(default_factory=dict)
    key_places: dict[Keys, Place] = field(default_factory=dict)
    duplicates: list[tuple[Keys, Place]] = field(default_factory=list)
    comments: list[Place] = field(default_factory=list)
    trailing: Place | None = None

    def nearest(self, keys: Keys) -> Place:
        """The place of the key or value at a path, or of the closest thing around it that exists."""
        while True:
            place = self.key_places.get(keys) or self.places.get(keys)
            if place or not keys:
                return place or Place(1, 1)
            keys = keys[:-1]


def parse(text: str, *, file: str | None = None, comments: bool = False, trailing: bool = False) -> JsonText:
    """Parse JSON text; `comments` and `trailing` tokens are noted where allowed. Raises SpecError with line and column,
    nothing else.
    """
    scanner = _Scanner(text, file, comments=comments)
    scanner.value((), 0)
    scanner.blank()
    if scanner.at < len(text):
        if not trailing:
            scanner.fail(f"expected the end of the text, found {scanner.found()}")
        scanner.out.trailing = scanner.place(scanner.at)
    return scanner.out


class _Scanner:
    """The parser's state: the text, how far it is read, and what came out."""

    def __init__(self, text: str, file: str | None, *, comments: bool) -> None:
        self.text, self.file, self.comments = text, file, comments
        self.at = 0
        self.out = JsonText()
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, at: int) -> Place:
        line = bisect_right(self.lines, at)
        return Place(line, at - self.lines[line - 1] + 1)

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        place = self.place(self.at if at is None else at)
        raise SpecError(message, file=self.file, line=place.line, column=place.column)

    def found(self) -> str:
        match = _WORD.match(self.text, self.at)
        return ascii(match.group()) if match else "the end of the text"

    def blank(self) -> None:
        """Skip white space and comments."""
        while True:
            self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # the pattern matches the empty text too
            if not self.text.startswith(("//", "/*"), self.at):
                return
            if not self.comments:
                self.fail("comments are not allowed here")
            self.out.comments.append(self.place(self.at))
            mark = "\n" if self.text[self.at + 1] == "/" else "*/"
            end = self.text.find(mark, self.at + 2)
            if end < 0 and mark == "*/":
                self.fail("this comment has no end")
            control = _CONTROL.search(self.text, self.at, end if end >= 0 else len(self.text))
            if control:
                self.fail("a comment cannot contain a control character", control.start())
            self.at = len(self.text) if end < 0 else end + len(mark)

    def take(self, mark: str) -> bool:
        """Return whether the next token is `mark`. If so, move past the token."""
        self.blank()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += 1
        return True

    def value(self, keys: Keys, depth: int) -> Any:
        self.blank()
        self.out.places[keys] = self.place(self.at)
        if depth >= MAX_DEPTH and self.text[self.at : self.at + 1] in {"{", "["}:
            self.fail(f"objects and lists nest deeper than {MAX_DEPTH} levels")
        if self.take("{"):
            value: Any = self.object(keys, depth)
        elif self.take("["):
            value = self.list(keys, depth)
        elif self.take('"'):
            value = self.string()
        else:
            value = self.scalar()
        if not keys:
            self.out.value = value
        return value

    def object(self, keys: Keys, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        if self.take("}"):
            return members
        while True:
            self.blank()
            start = self.at
            if not self.take('"'):
                self.fail(f"expected a key in double quotes, found {self.found()}")
            name = self.string()
            path, place = (*keys, name), self.place(start)
            if name in members:
                self.out.duplicates.append((path, place))
            self.out.key_places[path] = place
            if not self.take(":"):
                self.fail(f"expected ':' after the key {name!a}, found {self.found()}")
            members[name] = self.value(path, depth + 1)
            if self.take("}"):
                return members
            self.comma("}")

    def list(self, keys: Keys, depth: int) -> list[Any]:
        items: list[Any] = []
        if self.take("]"):
            return items
        while True:
            items.append(self.value((*keys, len(items)), depth + 1))
            if self.take("]"):
                return items
            self.comma("]")

    def comma(self, closing: str) -> None:
        """Move past the comma before another item."""
        if not self.take(","):
            self.fail(f"expected ',' or '{closing}', found {self.found()}")
        at = self.at - 1
        self.blank()
        if self.text.startswith(closing, self.at):
            self.fail(f"remove this comma: JSON has none before '{closing}'", at)

    def string(self) -> str:
        """The rest of a string whose opening quote was taken."""
        start, parts = self.at - 1, []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            parts.append(plain.group())  # type: ignore[union-attr]  # the pattern matches the empty text too
            self.at = plain.end()  # type: ignore[union-attr]  # as above
            mark = self.text[self.at : self.at + 1]
            if mark == '"':
                self.at += 1
                return self.joined("".join(parts), start)
            if mark == "\\":
                parts.append(self.escape())
            elif mark:
                self.fail("a control character in a string must be escaped")
            else:
                self.fail("this string has no end", start)

    def escape(self) -> str:
        mark = self.text[self.at + 1 : self.at + 2]
        if mark in _ESCAPES:
            self.at += 2
            return _ESCAPES[mark]
        digits = _HEX.match(self.text, self.at + 2)
        if mark != "u" or not digits:
            self.fail("this is no JSON escape sequence")
        self.at += 6
        return chr(int(digits.group(), 16))

    def joined(self, text: str, start: int) -> str:
        r"""A string whose escaped surrogate pairs (\ud83d\ude00) are made one character; a lone one cannot be written
        as UTF-8.
        """
        if not _SURROGATE.search(text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.fail("this string holds half a surrogate pair", start)

    def scalar(self) -> Any:
        for word, value in _LITERALS.items():
            if self.text.startswith(word, self.at) and _WORD.match(self.text, self.at).group() == word:  # type: ignore[union-attr]  # there is text
                self.at += len(word)
                return value
        match = _NUMBER.match(self.text, self.at)
        if not match or len(match.group()) > _MAX_DIGITS:
            self.fail(f"expected a value, found {self.found()}")
        self.at = match.end()
        return float(match.group()) if match.group(1) or match.group(2) else int(match.group())
