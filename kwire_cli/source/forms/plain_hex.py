r"""Plain hex: digits in any grouping, with colons, commas, hyphens, 0x or \x before them, and comments."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import Chunk, MismatchError, Reading, comment_text, first_visible, is_comment, is_frame

_SEPARATORS = str.maketrans(",:-\t\f\v", "      ")
_EXPECTED = "expected a hex digit"


def read(text: str) -> Reading:
    """All digits as one chunk; a chunk for each line where every line is a whole frame: a size prefix, and as many bytes."""
    lines = _lines(text)
    framed = len(lines) > 1 and all(is_frame(line.data) for line in lines)
    if framed:
        return Reading(tuple(lines), f"hex digits, {len(lines)} lines, each with a size prefix that equals its length")
    data = b"".join(line.data for line in lines)
    return Reading((Chunk(data, lines[0].line, lines[0].label),) if data else (), "hex digits")


def read_lines(text: str) -> Reading:
    """A chunk for each line."""
    lines = _lines(text)
    return Reading(tuple(lines), f"hex digits, {len(lines)} lines, each a chunk")


def _lines(text: str) -> list[Chunk]:
    """The bytes of each line that has any; MismatchError at the first character that is no part of hex."""
    if not text.strip():
        raise MismatchError(0, _EXPECTED)
    text = _without_quotes(text)
    folded = _unfold(text)
    if folded is not None:
        return [folded]
    chunks: list[Chunk] = []
    prefix = re.compile(r"\b0[xX](?=[0-9a-fA-F])|\\x(?=[0-9a-fA-F]{2}(?![0-9a-fA-F]))")
    position, label = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        if is_comment(line):
            label = comment_text(line)
        elif not line.strip():
            label = None
        else:
            code = re.split(r"#|//", line, maxsplit=1)[0]
            try:
                data = bytes.fromhex(prefix.sub("  ", code).translate(_SEPARATORS))
            except ValueError:
                data = _slow(code, position)
            if data:
                chunks.append(Chunk(data, number, label))
            label = None
        position += len(line) + 1
    if not chunks:
        raise MismatchError(first_visible(text), _EXPECTED)
    return chunks


def _without_quotes(text: str) -> str:
    """The text with the quotes around all of it made spaces, so that no position moves."""
    bare = text.strip()
    if len(bare) < 2 or bare[0] not in "\"'`" or bare[-1] != bare[0] or "\\" in bare:
        return text
    start = text.index(bare[0])
    return f"{text[:start]} {bare[1:-1]} "


def _slow(code: str, position: int) -> bytes:
    """A line token by token: 0x0 is a byte, and the first character that does not fit is named."""
    token = re.compile(r"[ \t\f\v,:\-]*+(?:(0[xX]|\\x)(?=[0-9a-fA-F]))?([0-9a-fA-F]*+)")
    out = bytearray()
    at = 0
    while at < len(code):
        found = token.match(code, at)
        if found is None or not found[2]:
            end = found.end() if found else at
            if end == len(code):
                break
            raise MismatchError(position + end, _EXPECTED)
        digits = found[2]
        if found[1] == "\\x" and len(digits) != 2:
            raise MismatchError(position + found.start(2) + min(len(digits), 2), "expected two hex digits after \\x")
        if len(digits) == 1 and found[1]:
            digits = f"0{digits}"
        if len(digits) % 2:
            following = code[found.end() : found.end() + 1]
            if following and following not in " \t\f\v,:-\\":
                raise MismatchError(position + found.end(), _EXPECTED)
            raise MismatchError(position + found.end() - 1, _missing(len(digits)))
        out += bytes.fromhex(digits)
        at = found.end()
    return bytes(out)


def _missing(digits: int) -> str:
    return f"{digits} digit{'s' * (digits > 1)}: one is missing at the end"


def _unfold(text: str) -> Chunk | None:
    """Digits folded at an odd width, which splits a byte between two lines: one chunk; None for any other text."""
    lines = [line.strip() for line in text.strip().split("\n")]
    width = len(lines[0])
    folded = len(lines) > 1 and width % 2 and all(len(line) == width for line in lines[:-1]) and len(lines[-1]) <= width
    digits = "".join(lines)
    if not folded or len(digits) % 2 or not re.fullmatch(r"[0-9a-fA-F]++", digits):
        return None
    return Chunk(bytes.fromhex(digits), text[: first_visible(text)].count("\n") + 1, None)
