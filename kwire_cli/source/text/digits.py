"""Hex and base64 without offsets."""

from __future__ import annotations

import re
from base64 import b64decode

from kwire_cli.errors import counted
from kwire_cli.source.text.model import Chunk, MismatchError, Reading, comment_text, first_visible, is_comment, is_frame

# Plain hex: digits in any grouping, with colons, commas, semicolons, hyphens, 0x or \x before them, and comments;
# `X'..'` of SQL, and `\x..` of PostgreSQL.

_SEPARATORS = str.maketrans(",;:-\t\f\v", "       ")


_EXPECTED = "expected a hex digit"


def read_hex(text: str) -> Reading:
    """All digits as one chunk; a chunk for each line where every line is a whole frame: a size prefix, and as many
    bytes.
    """
    lines = _lines(text)
    framed = len(lines) > 1 and all(is_frame(line.data) for line in lines)
    if framed:
        return Reading(tuple(lines), f"hex digits, {len(lines)} lines, each with a size prefix that equals its length")
    data = b"".join(line.data for line in lines)
    return Reading((Chunk(data, lines[0].line, lines[0].label),) if data else (), "hex digits")


def read_hex_lines(text: str) -> Reading:
    """A chunk for each line."""
    lines = _lines(text)
    return Reading(tuple(lines), f"hex digits, {len(lines)} lines, each a chunk")


def _lines(text: str) -> list[Chunk]:
    """The bytes of each line that has any; MismatchError at the first character that is no part of hex."""
    if not text.strip():
        raise MismatchError(0, _EXPECTED)
    text = _without_quotes(text)
    whole = _unfold(text) or _listed(text)
    if whole is not None:
        return [whole]
    chunks: list[Chunk] = []
    prefix = re.compile(
        r"\b0[xX](?=[0-9a-fA-F])|\\x(?=[0-9a-fA-F]{2}(?![0-9a-fA-F]))|^[ \t]*\\x(?=[0-9a-fA-F]{8,}+[ \t]*$)"
    )
    position, label = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        if is_comment(line):
            label = comment_text(line)
        elif not line.strip():
            label = None
        else:
            # Among escapes `#` is a byte, unless a space is before it.
            code = re.split(r"\s(?:#|//)" if "\\x" in line else "#|//", line, maxsplit=1)[0]
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


_SQL = re.compile(r"\s*+(?:[xX]'|[eE]?'\\{1,2}x)(?P<digits>[^'\\]*+)'\s*+(?:::bytea\s*+)?;?\s*+")
"""`X'00'` of SQL, and `'\\x00'::bytea` and `E'\\\\x00'` of PostgreSQL."""


def _without_quotes(text: str) -> str:
    """The text with the quotes around all of it made spaces, so that no position moves."""
    if sql := _SQL.fullmatch(text):
        return f"{' ' * sql.start('digits')}{sql['digits']}{' ' * (len(text) - sql.end('digits'))}"
    bare = text.strip()
    if len(bare) < 2 or bare[0] not in "\"'`" or bare[-1] != bare[0] or "\\" in bare:
        return text
    start = text.index(bare[0])
    return f"{text[:start]} {bare[1:-1]} "


def _slow(code: str, position: int) -> bytes:
    """A line token by token: 0x0 is a byte, and the first character that does not fit is named."""
    token = re.compile(r"[ \t\f\v,;:\-]*+(?:(0[xX]|\\x)(?=[0-9a-fA-F]))?([0-9a-fA-F]*+)")
    out = bytearray()
    at = 0
    while at < len(code):
        match = token.match(code, at)
        if match is None or not match[2]:
            end = match.end() if match else at
            if end == len(code):
                break
            raise MismatchError(position + end, _EXPECTED)
        digits = match[2]
        if match[1] == "\\x" and len(digits) != 2:
            raise MismatchError(position + match.start(2) + min(len(digits), 2), "expected two hex digits after \\x")
        if len(digits) == 1 and match[1]:
            digits = f"0{digits}"
        if len(digits) % 2:
            following = code[match.end() : match.end() + 1]
            if following and following not in " \t\f\v,;:-\\":
                raise MismatchError(position + match.end(), _EXPECTED)
            raise MismatchError(position + match.end() - 1, f"{counted(len(digits), 'digit')} (odd)")
        out += bytes.fromhex(digits)
        at = match.end()
    return bytes(out)


def _unfold(text: str) -> Chunk | None:
    """Digits folded at an odd width, which splits a byte between two lines: one chunk; None for any other text."""
    lines = [line.strip() for line in text.strip().split("\n")]
    width = len(lines[0])
    folded = len(lines) > 1 and width % 2 and all(len(line) == width for line in lines[:-1]) and len(lines[-1]) <= width
    digits = "".join(lines)
    if not folded or len(digits) % 2 or not re.fullmatch(r"[0-9a-fA-F]++", digits):
        return None
    return Chunk(bytes.fromhex(digits), text[: first_visible(text)].count("\n") + 1, None)


def _listed(text: str) -> Chunk | None:
    """Return one chunk of a list of hex numbers without prefixes in brackets, as Rust's {:x?} prints it.

    None for any other text, and for a list of numbers that may be decimal.
    """
    bare = text.strip()
    if not re.fullmatch(r"\[(?:\s*+[0-9a-fA-F]{1,2}\s*+,)*+\s*+[0-9a-fA-F]{1,2}\s*+\]", bare):
        return None
    numbers = bare[1:-1].replace(",", " ").split()
    padded = all(len(number) == 2 for number in numbers) and any(number.startswith("0") for number in numbers)
    if not padded and "".join(numbers).isdigit():
        return None
    return Chunk(bytes(int(number, 16) for number in numbers), text[: first_visible(text)].count("\n") + 1, None)


# Base64, standard or URL-safe, with or without padding, on one line or several.

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def read_base64(text: str) -> Reading:
    """The lines as one chunk, or each as its own where a line before the last ends in padding or each is a whole
    frame.
    """
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
            reading = _each(text, spans)
        except MismatchError:
            pass
        else:
            if all(is_frame(chunk.data) for chunk in reading.chunks):
                return reading
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
    """Return where the match of a pattern at `start` ends, or `start` if nothing matches."""
    match = pattern.match(text, start, end)
    return match.end() if match else start


def _decode(digits: str, last: int) -> bytes:
    """The bytes of base64 digits; MismatchError at `last`, the position of the last of them, when they do not end with
    a byte.
    """
    bare = digits.rstrip("=").replace("-", "+").replace("_", "/")
    pad = len(digits) - len(bare)
    spare = (0, None, 4, 2)[len(bare) % 4]
    if spare is None or not bare or (pad and (len(bare) + pad) % 4):
        raise MismatchError(last, f"{len(digits)} digits, and base64 has groups of four")
    if spare and _ALPHABET.index(bare[-1]) & ((1 << spare) - 1):
        raise MismatchError(last - pad, "expected a last base64 digit whose spare bits are zero")
    return b64decode(bare + "=" * (-len(bare) % 4))
