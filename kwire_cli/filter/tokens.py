"""The words of a filter, read one by one from where the grammar stands: what a character means depends on what is expected there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kwire_cli.filter.error import FilterError
from kwire_cli.filter.literals import word
from kwire_cli.filter.nodes import Literal, Name
from kwire_cli.filter.places import FRAME_HEADER

KEYWORDS = frozenset({"and", "or", "not", "in", "has"})

# The column's name of a field, as `host`, stays within reach with a dot before it.
_NAME = re.compile(r"\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
# A key of record headers may have any characters between quotes, and these without.
_HEADER = re.compile(
    r"""(?:records\.){0,2}header\.(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_])?))""", re.DOTALL
)
_SPACE = re.compile(r"\s*")
# Neither operators nor what closes a list are part of a word; what is written between quotes has no such limits.
_WORD = re.compile(r"""[^\s()"',=!<>~&|]+""")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"""\\(?:([\\"'])|([nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|)""")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class Cursor:
    """A filter's text, and how far it is read."""

    text: str
    at: int = 0

    def error(self, message: str, at: int | None = None) -> FilterError:
        """An error where reading stands, or at another offset."""
        return FilterError(message, text=self.text, column=(self.at if at is None else at) + 1)

    def expected(self, what: str) -> FilterError:
        """An error that says what was expected and what stands there."""
        found = _WORD.match(self.text, self.at)
        there = repr(found[0] if found else self.text[self.at]) if self.at < len(self.text) else "the end"
        return self.error(f"expected {what}, found {there}")

    def space(self) -> None:
        """Go on to the next character that is no white space."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, symbol: str) -> bool:
        """Whether a symbol stands next, behind white space; it is read then."""
        self.space()
        if self.text.startswith(symbol, self.at):
            self.at += len(symbol)
            return True
        return False

    def take_keyword(self, keyword: str) -> bool:
        """Whether a keyword, in any case, stands next; it is read then."""
        self.space()
        found = _NAME.match(self.text, self.at)
        if found and found[0].casefold() == keyword:
            self.at = found.end()
            return True
        return False


def name(cursor: Cursor) -> Name:
    """The name that stands next; FilterError where there is none."""
    cursor.space()
    if named := _header(cursor):
        return named
    found = _NAME.match(cursor.text, cursor.at)
    if not found or found[0].casefold() in KEYWORDS:
        raise cursor.expected("the name of a column or field")
    cursor.at = found.end()
    if cursor.text.startswith("[", cursor.at):
        raise cursor.error("a path has no indexes: topics.partitions, not topics[0].partitions")
    return Name(found[0], found.start() + 1)


def name_of(text: str) -> Name | None:
    """The name that a whole text is; None where it is none."""
    cursor = Cursor(text)
    named = _header(cursor)
    if named:
        return named if cursor.at == len(text) else None
    return Name(text, 1) if _NAME.fullmatch(text) else None


def _header(cursor: Cursor) -> Name | None:
    """The name of record headers that stands next; None where another one stands there, a field of the frame's own header too."""
    found = _HEADER.match(cursor.text, cursor.at)
    if not found or (found[0].startswith("header.") and found[3] and found[3].split(".")[0] in FRAME_HEADER):
        return None
    cursor.at = found.end()
    key = found[3] if found[3] is not None else re.sub(r"\\(.)", r"\1", found[1] if found[1] is not None else found[2], flags=re.DOTALL)
    return Name(found[0], found.start() + 1, key)


def literal(cursor: Cursor, *, pattern: bool = False) -> Literal:
    """The literal that stands next; FilterError where there is none. With `pattern`, backslashes in quotes are left to the regular expression."""
    cursor.space()
    start = cursor.at
    quote = cursor.text[start : start + 1]
    if quote and quote in _QUOTED:
        found = _QUOTED[quote].match(cursor.text, start)
        if not found:
            raise cursor.error(f"expected a closing {quote} for this one")
        cursor.at = found.end()
        text = found[1] if pattern else _unescaped(cursor, found)
        return Literal("string", text, text, start + 1)
    found = _WORD.match(cursor.text, start)
    if not found or found[0].casefold() in KEYWORDS:
        raise cursor.expected("a value")
    cursor.at = found.end()
    return word(found[0], start + 1)


def _unescaped(cursor: Cursor, quoted: re.Match[str]) -> str:
    def character(escape: re.Match[str]) -> str:
        itself, control, low, high = escape.groups()
        if itself or control:
            return str(itself or _CONTROL[control])
        if low or high:
            return chr(int(low or high, 16))
        raise cursor.error(r"""expected an escape: \\ \" \' \n \r \t \xHH \uHHHH""", quoted.start(1) + escape.start())

    return _ESCAPE.sub(character, quoted[1])
