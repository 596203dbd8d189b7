"""Base64, standard or URL-safe, with or without padding, on one line or several."""

from __future__ import annotations

import re
from base64 import b64decode

from kwire_cli.source.forms.model import Chunk, MismatchError, Reading, comment_text, first_visible, is_frame

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def read(text: str) -> Reading:
    """The lines as one chunk, or each as its own where a line before the last ends in padding or each is a whole frame."""
    spans: list[tuple[int, int, int, str | None]] = []
    position, label = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        # Not any `//`: both characters are base64.
        if bare.startswith(("# ", "// ")) or bare in ("#", "//"):
            label = comment_text(bare)
        elif bare:
            start = position + line.index(bare)
            spans.append((start, start + len(bare), number, label))
            label = None
        else:
            label = None
        position += len(line) + 1
    if not spans:
        raise MismatchError(first_visible(text), "expected base64")
    _check(text, spans)
    return _joined(text, spans) or _each(text, spans)


def _joined(text: str, spans: list[tuple[int, int, int, str | None]]) -> Reading | None:
    """One chunk of all lines; None when they must be, or plainly are, a chunk each."""
    if any(text[end - 1] == "=" for _, end, _, _ in spans[:-1]):
        return None
    if len(spans) > 1:
        try:
            each = _each(text, spans)
        except MismatchError:
            pass
        else:
            if all(is_frame(chunk.data) for chunk in each.chunks):
                return each
    whole = "".join(text[start:end] for start, end, _, _ in spans)
    data = _decode(whole, spans[-1][1] - 1)
    return Reading((Chunk(data, spans[0][2], spans[0][3]),), "base64")


def _each(text: str, spans: list[tuple[int, int, int, str | None]]) -> Reading:
    """A chunk for each line."""
    chunks = []
    for start, end, line, label in spans:
        chunks.append(Chunk(_decode(text[start:end], end - 1), line, label))
    return Reading(tuple(chunks), f"base64, {len(chunks)} lines, each on its own")


def _check(text: str, spans: list[tuple[int, int, int, str | None]]) -> None:
    """MismatchError at the first character that is no base64, or of the other alphabet than those before it."""
    digits = re.compile(r"[A-Za-z0-9]*+")
    alphabet = ""
    for start, end, _, _ in spans:
        at = start
        while (at := _end(digits, text, at, end)) < end and text[at] in "+/-_":
            alphabet = alphabet or ("+/" if text[at] in "+/" else "-_")
            if text[at] not in alphabet:
                raise MismatchError(at, "expected either + and /, or - and _, not both")
            at += 1
        if (at := _end(re.compile("={0,2}"), text, at, end)) < end:
            raise MismatchError(at, "expected a base64 digit")


def _end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Where a match of a pattern that may match nothing ends."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


def _decode(digits: str, last: int) -> bytes:
    """The bytes of base64 digits; MismatchError at `last`, the position of the last of them, when they do not end with a byte."""
    bare = digits.rstrip("=").replace("-", "+").replace("_", "/")
    pad = len(digits) - len(bare)
    spare = (0, None, 4, 2)[len(bare) % 4]
    if spare is None or not bare or (pad and (len(bare) + pad) % 4):
        raise MismatchError(last, f"{len(digits)} digits, and base64 has groups of four")
    if spare and _ALPHABET.index(bare[-1]) & ((1 << spare) - 1):
        raise MismatchError(last - pad, "expected a last base64 digit whose spare bits are zero")
    return b64decode(bare + "=" * (-len(bare) % 4))
