"""Readings of a text, and what is around bytes in chats, tickets and logs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.headers import FRAME_SIZE, RESPONSE_START

_SIZE = fixed(FRAME_SIZE)
_RESPONSE_START = fixed(RESPONSE_START)

# What a form gives back, and how it says that a text is not in that form.


class Answers(NamedTuple):
    """The response that bytes are, as the text names it. The bytes lack its size and correlation id."""

    api_key: int
    version: int
    correlation_id: int

    def frame(self, data: bytes) -> bytes:
        """Return the bytes with the size and the correlation id."""
        correlation_id = int.from_bytes((self.correlation_id & 0xFFFFFFFF).to_bytes(4), signed=True)
        return _RESPONSE_START.pack(_RESPONSE_START.size - _SIZE.size + len(data), correlation_id) + data


class Chunk(NamedTuple):
    """Bytes that the input itself separates.

    `line` is their first line, from 1 (0 for raw). `label` is a comment or the name of a variable.
    """

    data: bytes
    line: int
    label: str | None
    answers: Answers | None = None


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
        self.offset = offset
        self.reason = reason
        self.sure = sure


Reader = Callable[[str], Reading]


def is_comment(line: str) -> bool:
    """Return whether a whole line is a comment."""
    return line.lstrip().startswith(("#", "//"))


def comment_text(line: str) -> str | None:
    """A comment without its marks; None when nothing is left."""
    return line.strip().removeprefix("/*").removesuffix("*/").strip("#/ \t") or None


def first_visible(text: str) -> int:
    """Return where the first character that is not whitespace stands, or 0 in an empty text."""
    return len(text) - len(text.lstrip()) if text.strip() else 0


_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\v\f\r")
"""Control characters that text does not contain."""


def has_controls(data: bytes) -> bool:
    """Return whether bytes contain control characters that text does not."""
    return len(data.translate(None, _CONTROLS)) != len(data)


def is_frame(data: bytes) -> bool:
    """Return whether bytes are a whole frame: a four-byte size prefix, and as many bytes after it."""
    return len(data) >= _SIZE.size and _SIZE.unpack(data)[0] == len(data) - _SIZE.size


# What stands around bytes in chats, tickets and logs.

_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^`\n]*\n(?P<inside>[\s\S]*?)\n[ \t]*(?:```|~~~)[ \t]*\n?")


def without_fence(text: str) -> str:
    """Return a text with blanks in place of a Markdown fence around it, so that no character moves."""
    match = _FENCE.fullmatch(text)
    if match is None:
        return text
    start, stop = match.span("inside")
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:stop] + re.sub(r"[^\n]", " ", text[stop:])
