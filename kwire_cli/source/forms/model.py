"""What a form gives back, and how it says that a text is not in that form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that the input itself sets apart: `line` is their first in the text, from 1 (0 for raw); `label` a comment or a variable's name."""

    data: bytes
    line: int
    label: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read in one form: its chunks, a sentence part that says what was seen, and what is missing in them."""

    chunks: tuple[Chunk, ...]
    detail: str
    notes: tuple[str, ...] = ()


class MismatchError(Exception):
    """A text is not in the form tried; it never leaves this room.

    `offset` is the first character of the text that does not fit. `sure` says that what stands before it can only be this
    form, so that looser forms must not be tried.
    """

    def __init__(self, offset: int, reason: str, *, sure: bool = False) -> None:
        super().__init__(reason)
        self.offset, self.reason, self.sure = offset, reason, sure


Reader = Callable[[str], Reading]


def is_comment(line: str) -> bool:
    """Whether a whole line is a comment."""
    return line.lstrip().startswith(("#", "//"))


def comment_text(line: str) -> str | None:
    """A comment without its marks; None when nothing is left."""
    return line.strip().removeprefix("/*").removesuffix("*/").strip("#/ \t") or None


def first_visible(text: str) -> int:
    """Where the first character that is no whitespace stands; 0 in an empty text."""
    return len(text) - len(text.lstrip()) if text.strip() else 0


def is_frame(data: bytes) -> bool:
    """Whether bytes are a whole frame by their size prefix: four bytes that count those after them."""
    return len(data) >= 4 and int.from_bytes(data[:4]) == len(data) - 4
