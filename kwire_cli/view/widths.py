"""Text in the cells of a terminal: its width, cut to a width, and folded to a width."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kwire_cli.view.lines import plain, without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.view.lines import Line

Cut = Literal["middle", "end", "call", "list", "short"]
"""How a text loses characters: `middle` keeps both ends (`orders-…-app`), `end` the beginning, `call` the beginning of
a name and its version (`ConsumerGr… v1`), `list` the first names and says how many more there are (`orders, payments,
+22`), `short` drops digits behind those that fit."""
ELLIPSIS = "…"
_NARROW = "\u0300"
"""Characters below this one take a cell."""


def cell_width(text: str) -> int:
    """Return the cells that a text without control characters takes: two for a wide character."""
    if text.isascii() or max(text) < _NARROW:
        return len(text)
    return sum(map(_char_width, text))


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, how: Cut = "middle") -> str:
    """Return a text that takes at most `width` cells."""
    if cell_width(text) <= width:
        return text
    if how == "list" and (names := text.split(", "))[1:]:
        return _cut_list(names, width)
    if how == "short":
        return text[: max(width, 0)]
    if how == "call":
        name, space, version = text.rpartition(" v")
        if name and len(version) < width // 2:
            return f"{cut(name, width - len(space + version), 'end')}{space}{version}"
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    tail = 0 if how in {"end", "call"} else (width - 1) // 2
    return f"{_head(text, width - 1 - tail)}{ELLIPSIS}{_head(text[::-1], tail)[::-1]}"


def _cut_list(names: list[str], width: int) -> str:
    """Return as many names as fit, and how many more there are."""
    text = ""
    for number, name in enumerate(names):
        longer = f"{text}, {name}" if text else name
        if cell_width(longer) + len(f", +{len(names) - number - 1}") > width:
            break
        text = longer
    else:
        return text
    if text:
        return f"{text}, +{len(names) - number}"
    more = f", +{len(names) - 1}"
    return f"{cut(names[0], width - len(more))}{more}" if width - len(more) > 1 else cut(f"{len(names)}", width)


def _head(text: str, width: int) -> str:
    """Return the first characters of a text, as many as fit."""
    if text.isascii():
        return text[:width]
    used = 0
    for number, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:number]
    return text


# Lines that are longer than the terminal go on in further lines, which stand further in.

_STEM = re.compile(r"^(?:[│├└─ ]|\.)*")
_AFTER = re.compile(r"(?:[\s,;/]|\.(?=[a-zA-Z]))[^\s,;/.]*$")
_INDENT, _LEAST = 4, 16
"""Cells that a line goes on further in, and cells that its text has at least."""


def folded(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """Yield lines that take at most `width` cells, without control characters.

    What does not fit goes on below, under the branches of the tree that the line is in.
    """
    for line in lines:
        safe = without_control(line)
        if cell_width(plain(safe)) <= width:
            yield safe
        else:
            yield from fold(safe, width, _hanging(plain(safe), width))


def _hanging(text: str, width: int) -> str:
    """Return what stands before the second line of a text: its branches of a tree, and an indent."""
    match = _STEM.match(text)
    stem = (match.group() if match else "").replace("├", "│").replace("└", " ").replace("─", " ")
    return f"{stem}{' ' * _INDENT}"[: max(width - _LEAST, 0)]


def fold(line: Line, width: int, hanging: str = "") -> Iterator[Line]:
    """Yield the lines that a line becomes: the first as wide as `width`, the others behind `hanging`."""
    text = plain(line)
    begin, room = 0, width
    while True:
        piece = text[begin:]
        end = len(text) if cell_width(piece) <= room else begin + _break(piece, room)
        yield [*([(hanging, "dim")] if begin else []), *_slice(line, begin, end)]
        begin = end
        while text[begin : begin + 1] == " ":
            begin += 1
        if begin >= len(text):
            return
        room = max(width - len(hanging), 1)


def _break(text: str, room: int) -> int:
    """Return how many characters stand on one line: up to a space or a comma in its second half, if there is one."""
    head = _head(text, room) or text[0]
    if text[len(head) : len(head) + 1] == " ":
        return len(head)
    match = _AFTER.search(head)
    return match.start() + 1 if match and match.start() >= len(head) // 2 else len(head)


def _slice(line: Line, begin: int, end: int) -> Line:
    """Return the characters [begin, end) of a line."""
    out, at = [], 0
    for text, style in line:
        piece = text[max(begin - at, 0) : max(end - at, 0)]
        at += len(text)
        if piece:
            out.append((piece, style))
    return out


def cropped(line: Line, width: int) -> Line:
    """Return the part of a line that fits."""
    return _slice(line, 0, len(_head(plain(line), width)))
