"""Readings of a text, tokens and escapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

# What a form gives back, and how it says that a text is not in that form.


class Chunk(NamedTuple):
    """Bytes that the input itself sets apart: `line` is their first in the text, from 1 (0 for raw); `label` a comment
    or a variable's name.
    """

    data: bytes
    line: int
    label: str | None


class Reading(NamedTuple):
    """A text read in one form: its chunks, a sentence part that says what was seen, and what is missing in them."""

    chunks: tuple[Chunk, ...]
    detail: str
    notes: tuple[str, ...] = ()


NO_FRAME = "no line holds bytes that prove to be a frame"
"""The reason why a text is no log with bytes in it."""
WHOLE_TEXT = -1
"""Offset of a MismatchError that is about a text as a whole."""


class MismatchError(Exception):
    """A text is not in the form tried; it never leaves this room.

    `offset` is the first character of the text that does not fit, or WHOLE_TEXT. `sure` says that what stands
    before it can only be this form, so that looser forms must not be tried.
    """

    def __init__(self, offset: int, reason: str, *, sure: bool = False) -> None:
        super().__init__(reason)
        self.offset, self.reason, self.sure = offset, reason, sure


Reader = Callable[[str], Reading]

ZERO_BEFORE_DIGIT = re.compile(r"""\b[bB]"(?:[^"\\]|\\[^0]|\\0(?![0-7]))*+(\\0[0-7])""")
"""The escape in b"\\02" that Rust reads as two bytes, and Python as one."""


def cut_note(line: int, size: int, left: str) -> str:
    """Return the note on a Buffer of `size` bytes that Node cut when it printed it; `left` is "50 more bytes"."""
    are = "is" if left.startswith("1 ") else "are"
    return f"line {line}: Node printed only the first {size} bytes; {left} {are} missing; print buffer.toString('hex')"


def is_comment(line: str) -> bool:
    """Return whether a whole line is a comment."""
    return line.lstrip().startswith(("#", "//"))


def comment_text(line: str) -> str | None:
    """A comment without its marks; None when nothing is left."""
    return line.strip().removeprefix("/*").removesuffix("*/").strip("#/ \t") or None


def first_visible(text: str) -> int:
    """Return where the first character that is not whitespace stands, or 0 in an empty text."""
    return len(text) - len(text.lstrip()) if text.strip() else 0


def is_frame(data: bytes) -> bool:
    """Return whether bytes are a whole frame: a four-byte size prefix, and as many bytes after it."""
    return len(data) >= 4 and int.from_bytes(data[:4]) == len(data) - 4


# What stands around bytes in chats, tickets and logs.

_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^`\n]*\n(?P<inside>[\s\S]*?)\n[ \t]*(?:```|~~~)[ \t]*\n?")
_RULER = re.compile(r"(?m)^[ \t]*(?:\+-{8,}\+[-+]*|\|(?:  ?[0-9a-f]){16} \|)[ \t]*$")
_FRAMED_ROW = re.compile(r"(?m)^([ \t]*)\|([0-9a-f]{8})\| ")


def without_frame(text: str) -> str:
    """Return a text with blanks in place of a Markdown fence around it and of the lines that Netty draws around dumps.

    No character moves.
    """
    if match := _FENCE.fullmatch(text):
        start, stop = match.span("inside")
        text = _blank(text[:start]) + text[start:stop] + _blank(text[stop:])
    if _FRAMED_ROW.search(text):
        text = _FRAMED_ROW.sub(r"\1 \2  ", _RULER.sub(lambda ruler: _blank(ruler[0]), text))
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


# Backslash escapes in the string literals of C, Python and JavaScript.

_SIMPLE = {
    "a": 7,
    "b": 8,
    "t": 9,
    "n": 10,
    "v": 11,
    "f": 12,
    "r": 13,
    "e": 27,
    "\\": 92,
    "'": 39,
    '"': 34,
    "?": 63,
    "`": 96,
}


_NOT_PYTHON = "e?`"
_ESCAPE = r"[^\\]++|\\(?:x(?P<hex>[0-9a-fA-F]++)|(?P<octal>[0-7]{1,3})|(?P<fold>\n)|(?P<simple>[\s\S]))"


def unescape(
    body: str, start: int, *, encoding: str = "utf-8", hex_digits: int | None = 2, keep_unknown: bool = False
) -> bytes:
    r"""The bytes of a literal's body, which begins at `start` of the whole text.

    Characters that are not escaped become bytes by `encoding`. `hex_digits` is how many a \x escape takes; None, as in
    C: all that follow. An unknown escape stays as it is written when `keep_unknown`, as in Python; else MismatchError.
    """
    out = bytearray()
    for match in re.finditer(_ESCAPE, body):
        at = start + match.start()
        digits, octal, simple = match["hex"], match["octal"], match["simple"]
        rest = ""
        if digits is not None:
            if hex_digits is not None:
                digits, rest = digits[:hex_digits], digits[hex_digits:]
            if len(digits) < (hex_digits or 1):
                raise MismatchError(at + 2 + len(digits), f"expected {hex_digits} hex digits after \\x")
            # Zeros in front are cut first: int() of a long text is not linear.
            if len(digits.lstrip("0")) > 2:
                raise MismatchError(
                    at,
                    "in C a \\x escape takes every hex digit that follows, and this one exceeds a byte; see `--input "
                    "python`",
                )
            out.append(int(digits.lstrip("0") or "0", 16))
        elif octal is not None:
            if int(octal, 8) > 255:
                raise MismatchError(at, f"the octal escape \\{octal} exceeds a byte")
            out.append(int(octal, 8))
        elif simple is not None and simple in _SIMPLE and not (keep_unknown and simple in _NOT_PYTHON):
            out.append(_SIMPLE[simple])
        elif simple is not None and (not keep_unknown or simple == "x"):
            raise MismatchError(at, f"the escape \\{simple} stands for no byte")
        elif not match["fold"]:
            rest = match[0]
        try:
            out += rest.encode(encoding)
        except UnicodeEncodeError as error:
            raise MismatchError(
                match.end() - len(rest) + start + error.start, f"this character is no {encoding}"
            ) from None
    return bytes(out)


# Source text as tokens, for the languages that bytes are pasted from.

_PATTERN = r"""
    (?P<space>(?:[ \t\n\f\v]|\\\n)++)
  | (?P<comment>//[^\n]*+ | \#[^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<string>[A-Za-z]{0,2}(?:
        \"\"\"(?:[^"\\]|\\[\s\S]|"(?!""))*+\"\"\" | '''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''
      | "(?:[^"\\\n]|\\[\s\S])*+" | '(?:[^'\\\n]|\\[\s\S])*+' | `(?:[^`\\]|\\[\s\S])*+`))
  | (?P<buffer><(?:Slow)?Buffer[^>\n]*+>?)
  | (?P<number>-?[0-9][0-9A-Za-z_]*+)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$.]*+)
  | (?P<mark>[\s\S])
"""


class Token(NamedTuple):
    """A piece of source: `kind` is string, buffer, number, word, mark, or end; `line` counts from 1."""

    kind: str
    text: str
    start: int
    line: int
    comment: str | None

    @property
    def end(self) -> int:
        """The position in the whole text where the token ends."""
        return self.start + len(self.text)


class Tokens:
    """The tokens of a text, one at a time; comments and whitespace are skipped.

    A token's `comment` is what the comment right above it, or before it, says.
    """

    def __init__(self, text: str) -> None:
        self._found = re.compile(_PATTERN, re.VERBOSE).finditer(text)
        self._line, self._end = 1, len(text)
        self._next = self._advance()

    def peek(self) -> Token:
        """The token that `take` gives next; its kind is end after the last one."""
        return self._next

    def take(self) -> Token:
        """The next token."""
        token, self._next = self._next, self._advance()
        return token

    def _advance(self) -> Token:
        comment: str | None = None
        for match in self._found:
            kind, line = match.lastgroup or "mark", self._line
            self._line += match[0].count("\n")
            if kind == "comment":
                comment = comment_text(match[0])
            elif kind != "space":
                return Token(kind, match[0], match.start(), line, comment)
            elif self._line - line > 1:
                comment = None
        return Token("end", "", self._end, self._line, None)
