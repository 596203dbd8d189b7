"""Results of reading text forms, and helpers that all forms share.

A reader of a form returns an `Input`, or raises `MismatchError` with the first character that does not fit. The offset
allows `auto` to report the form that fitted furthest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.headers import FRAME_SIZE, RESPONSE_START

_SIZE = fixed(FRAME_SIZE)
_RESPONSE_START = fixed(RESPONSE_START)


class Answers(NamedTuple):
    """The response that bytes are, according to the text around them. The bytes lack size and correlation id."""

    api_key: int
    version: int
    correlation_id: int

    def frame(self, data: bytes) -> bytes:
        """Return the bytes with the size and the correlation id."""
        correlation_id = int.from_bytes((self.correlation_id & 0xFFFFFFFF).to_bytes(4), signed=True)
        return _RESPONSE_START.pack(_RESPONSE_START.size - _SIZE.size + len(data), correlation_id) + data


class Chunk(NamedTuple):
    """Bytes that the input separates from others.

    `line` is their first line, from 1 (0 for raw). `label` is a comment or the name of a variable.
    """

    data: bytes
    line: int
    label: str | None
    answers: Answers | None = None


class Input(NamedTuple):
    """The bytes of an input, with the form in which they were encoded.

    Attributes:
        chunks: At least one chunk.
        detail: Which form was recognised, and why.
        notes: The parts that are missing in the input, with their places.
        form: One of FORMS, but not auto. The reader of a form leaves it empty.

    """

    chunks: tuple[Chunk, ...]
    detail: str
    notes: tuple[str, ...] = ()
    form: str = ""


NO_FRAME = "no line holds bytes that prove to be a frame"
"""The reason for text that is not a log with bytes."""


WHOLE_TEXT = -1
"""Offset of a MismatchError that concerns the whole text."""


class MismatchError(Exception):
    """The text is not in the tried form. The error is raised and handled within `source.text`.

    `offset` is the first character that does not fit, or WHOLE_TEXT. `sure` is true if the text before it can only be
    in this form, so that less strict forms must not be tried.
    """

    def __init__(self, offset: int, reason: str, *, sure: bool = False) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason
        self.sure = sure


Reader = Callable[[str], Input]


def is_comment(line: str) -> bool:
    """Return whether a whole line is a comment."""
    return line.lstrip().startswith(("#", "//"))


def comment_text(line: str) -> str | None:
    """Return a comment without its marks, or None if it is empty."""
    return line.strip().removeprefix("/*").removesuffix("*/").strip("#/ \t") or None


def first_visible(text: str) -> int:
    """Return the offset of the first character that is not whitespace, or 0 for an empty text."""
    return len(text) - len(text.lstrip()) if text.strip() else 0


_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\v\f\r")
"""Control characters that text does not contain."""


def has_controls(data: bytes) -> bool:
    """Return whether bytes contain control characters that text does not contain."""
    return len(data.translate(None, _CONTROLS)) != len(data)


def is_frame(data: bytes) -> bool:
    """Return whether bytes are a complete frame: a four-byte size prefix and that number of bytes."""
    return len(data) >= _SIZE.size and _SIZE.unpack(data)[0] == len(data) - _SIZE.size


_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^`\n]*\n(?P<inside>[\s\S]*?)\n[ \t]*(?:```|~~~)[ \t]*\n?")


def without_fence(text: str) -> str:
    """Return `text` with spaces instead of an enclosing Markdown fence. All other characters keep their offsets."""
    match = _FENCE.fullmatch(text)
    if match is None:
        return text
    start, stop = match.span("inside")
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:stop] + re.sub(r"[^\n]", " ", text[stop:])
