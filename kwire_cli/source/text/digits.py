"""Readers of hex and base64 without offsets.

Hex digits can be grouped in any way, with colons, commas, semicolons, hyphens, `0x` or a backslash and `x` before them,
and with comments. Base64 can be standard or URL-safe, with or without padding, on one or more lines. Lines that are
complete frames become separate chunks.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode

from kwire_cli.errors import counted
from kwire_cli.source.text.model import Chunk, Input, MismatchError, comment_text, first_visible, is_comment, is_frame

_SEPARATORS = str.maketrans(",;:-\t\f\v", "       ")


_EXPECTED = "expected a hex digit"


def read_hex(text: str) -> Input:
    """Return all digits as one chunk. If each line is a complete frame with its size prefix, return a chunk per
    line.
    """
    lines = _lines(text)
    framed = len(lines) > 1 and all(is_frame(line.data) for line in lines)
    if framed:
        return Input(tuple(lines), f"hex digits, {len(lines)} lines, each with a size prefix that equals its length")
    data = b"".join(line.data for line in lines)
    return Input((Chunk(data, lines[0].line, lines[0].label),) if data else (), "hex digits")


def read_hex_lines(text: str) -> Input:
    """Return a chunk per line."""
    lines = _lines(text)
    return Input(tuple(lines), f"hex digits, {len(lines)} lines, each a chunk")


def _lines(text: str) -> list[Chunk]:
    """Return the bytes of each line that has any. Raise MismatchError at the first character that does not fit."""
    if not text.strip():
        raise MismatchError(0, _EXPECTED)
    text = _without_quotes(text)
    chunks: list[Chunk] = []
    prefix = re.compile(r"\b0[xX](?=[0-9a-fA-F])|\\x(?=[0-9a-fA-F]{2}(?![0-9a-fA-F]))")
    position = 0
    label = None
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
                data = _tokenized(code, position)
            if data:
                chunks.append(Chunk(data, number, label))
            label = None
        position += len(line) + 1
    if not chunks:
        raise MismatchError(first_visible(text), _EXPECTED)
    return chunks


def _without_quotes(text: str) -> str:
    """Return the text with spaces instead of enclosing quotes. All other characters keep their offsets."""
    bare = text.strip()
    if len(bare) < 2 or bare[0] not in "\"'`" or bare[-1] != bare[0] or "\\" in bare:
        return text
    start = text.index(bare[0])
    return f"{text[:start]} {bare[1:-1]} "


_TOKEN = re.compile(r"(?P<mark>0[xX](?=[0-9a-fA-F])|\\x)?+(?P<digits>[0-9a-fA-F]++)|(?P<wrong>[^ \t\f\v,;:-])")


def _tokenized(code: str, position: int) -> bytes:
    """Return the bytes of a line, read by tokens: 0x0 is one byte. Raise MismatchError with the exact position."""
    out = bytearray()
    for token in _TOKEN.finditer(code):
        mark = token["mark"]
        digits = token["digits"]
        if token["wrong"]:
            raise MismatchError(position + token.start(), _EXPECTED)
        if mark == "\\x" and len(digits) != 2:
            raise MismatchError(position + token.start() + 2 + min(len(digits), 2), "expected two hex digits after \\x")
        if len(digits) == 1 and mark:
            digits = f"0{digits}"
        if len(digits) % 2:
            if code[token.end() : token.end() + 1].strip(" \t\f\v,;:-\\"):
                raise MismatchError(position + token.end(), _EXPECTED)
            raise MismatchError(position + token.end() - 1, f"{counted(len(digits), 'digit')} (odd)")
        out += bytes.fromhex(digits)
    return bytes(out)


def read_base64(text: str) -> Input:
    """Return the lines as one chunk, or each as a chunk if a line before the last ends in padding, or each is a frame.

    Raises:
        MismatchError: A character is not base64, or digits do not end with a byte.

    """
    lines: list[tuple[int, str, int, str | None]] = []
    position = 0
    label = None
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        # Not any `//`: both characters are base64.
        if bare.startswith(("# ", "// ")) or bare in ("#", "//"):
            label = comment_text(bare)
        else:
            if bare:
                lines.append((position + line.index(bare), bare, number, label))
            label = None
        position += len(line) + 1
    if not lines:
        raise MismatchError(first_visible(text), "expected base64")
    for start, digits, _, _ in lines:
        if wrong := _NOT_BASE64.search(digits):
            raise MismatchError(start + wrong.start(), "expected a base64 digit")
    padded = any(digits.endswith("=") for _, digits, _, _ in lines[:-1])
    try:
        chunks = [Chunk(_decoded(digits, start), line, name) for start, digits, line, name in lines]
    except MismatchError:
        if padded:
            raise
        chunks = []
    if padded or (len(chunks) > 1 and all(is_frame(chunk.data) for chunk in chunks)):
        return Input(tuple(chunks), f"base64, {len(chunks)} lines, each on its own")
    start, last, _, _ = lines[-1]
    whole = "".join(digits for _, digits, _, _ in lines)
    data = _decoded(whole, start + len(last) - len(whole))
    return Input((Chunk(data, *lines[0][2:]),), "base64")


_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/_=-]|=(?!=?$)")


def _decoded(digits: str, start: int) -> bytes:
    """Return the bytes of base64 digits. MismatchError at the last digit if they do not end with a byte."""
    bare = digits.rstrip("=").replace("-", "+").replace("_", "/")
    last = start + len(digits) - 1
    if len(bare) % 4 == 1 or not bare or (bare != digits and len(digits) % 4 and digits.endswith("=")):
        raise MismatchError(last, f"{len(digits)} digits, and base64 has groups of four")
    data = b64decode(bare + "=" * (-len(bare) % 4))
    if b64encode(data).decode().rstrip("=") != bare:
        raise MismatchError(start + len(bare) - 1, "expected a last base64 digit whose spare bits are zero")
    return data


READERS = {"hex": read_hex, "hex-lines": read_hex_lines, "base64": read_base64}
