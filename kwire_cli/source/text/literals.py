r"""Bytes as source code writes them: lists of numbers, strings with escapes, and what tools print as such.

One grammar reads all languages, because bytes are pasted without the line that names the language. A pattern cuts the
text into parts. Lists, strings and printed Buffers are bytes. The parts between them have to look like source code, so
text is never taken for bytes.
"""

from __future__ import annotations

import re

from kwire_cli.source.text.model import Chunk, Input, MismatchError, comment_text, first_visible

_SPACE = r"(?:[ \t\n\f\v]|\\\n|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
_QUOTED = (
    r'(?:"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""'
    r"|'''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''"
    r'|"(?:[^"\\\n]|\\[\s\S])*+"'
    r"|'(?:[^'\\\n]|\\[\s\S])*+'"
    r"|`(?:[^`\\]|\\[\s\S])*+`)"
)
_STRING = rf"(?:\b[bBrR]{{1,2}})?+{_QUOTED}|\\x[0-9a-fA-F]{{2}}[^\n]*+"
_NUMBER = r"(?:\([a-z]++\)[ ]*+)?+(?:-?[0-9][0-9A-Za-z_]*+|'(?:[^'\\\n]|\\[^\n])++')"
_NUMBERS = rf"{_SPACE}*+{_NUMBER}(?:(?:{_SPACE}|,)++{_NUMBER})*+(?:{_SPACE}|,)*+"
_PART = re.compile(
    rf"""(?P<space>{_SPACE}++)
  | (?P<strings>(?:{_STRING})(?:(?:{_SPACE}|\+)*+(?:{_STRING}))*+)
  | (?P<buffer><(?:Slow)?Buffer(?:[ ][0-9a-fA-F]{{2}})*+(?:[ ]\.\.\.[ ][0-9]++[ ]more[ ]bytes?)?+>)
  | (?P<numbered>\{{(?:\s*+["'][0-9]++["']\s*+:\s*+-?[0-9]++\s*+,?+)++\s*+\}})
  | (?P<list>(?:\[{_NUMBERS}\]|\{{{_NUMBERS}\}}|<<{_NUMBERS}>>|\bbyteArrayOf\({_NUMBERS}\)))
  | (?P<number>-?[0-9][0-9A-Za-z_]*+)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$.]*+)
  | (?P<mark>[\s\S])""",
    re.VERBOSE,
)
_DECIMALS = re.compile(_NUMBERS)
_PIECE = re.compile(rf"(?:{_SPACE}|\+)++|(?P<string>{_STRING})")
_COMMENT = re.compile(r"//[^\n]*+|#[^\n]*+|/\*[\s\S]*?\*/")
_COLON = re.compile(r"\s*+:")
_DECLARES = re.compile(r"\s*+[=\[:]")
_ELEMENT = re.compile(rf"{_SPACE}|(?P<element>{_NUMBER})")
_MARKS = frozenset("[](){}<>=;,.:|&!*+-@?/")
_TYPES = ("byte", "bytes", "bytearray", "char", "Uint8Array")
"""Words before a bracket or an equals sign that name a type, not the variable."""
_EXPECTED = "expected a list, a string or a Buffer that holds bytes"
_HEX = re.compile(r"\s*(?:[0-9a-fA-F]{2}\s*){8,}+")
_ESCAPED = re.compile(r"\\[^\s]")
_SUFFIX = re.compile(r"_?[ui]8$|[uUlL]{1,3}$")


def read_literals(text: str) -> Input:
    """Return a chunk for each literal. Adjacent strings are one literal."""
    if _DECIMALS.fullmatch(text):
        line = text.count("\n", 0, first_visible(text)) + 1
        return Input((Chunk(_numbers(text, 0), line, None),), "numbers of bytes")
    notes: list[str] = []
    chunks = [chunk for chunk in _chunks(text, notes) if chunk.data]
    if not chunks:
        raise MismatchError(first_visible(text), _EXPECTED)
    return Input(tuple(chunks), "literals of a programming language", tuple(notes))


def literal_bytes(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of one literal, and the notes on them."""
    reading = read_literals(text)
    return b"".join(chunk.data for chunk in reading.chunks), reading.notes


def _chunks(text: str, notes: list[str]) -> list[Chunk]:
    chunks: list[Chunk] = []
    brackets: list[str] = []
    name = None
    comment = None
    earlier = None
    before = ""
    at = 0
    line = 1
    while part := _PART.match(text, at):
        kind = part.lastgroup or ""
        here = part[0]
        if kind == "list" and (_is_index(here, before) or _is_type(text, part)):
            kind, here = "mark", here[0]
        at += len(here)
        if kind == "space":
            comment = _comment(here)
            line += here.count("\n")
            continue
        label = name or comment or earlier
        data: bytes | None = None
        if kind == "strings" and (here[0] != "\\" or _begins_line(part)):
            data = _strings(part)
        elif kind in _DATA:
            data = _DATA[kind](here, part.start())
        if data is not None:
            chunks.append(Chunk(data, line, label))
            name = None
            if kind == "buffer" and "..." in here:
                notes.append(_cut_buffer(here, line, len(data)))
            if kind == "strings" and text.startswith("...", at):
                notes.append(f"line {line}: the string was cut when it was printed; strace -s 65535 cuts less")
                at += 3
        elif _is_code(kind, here, before, brackets) or (kind == "strings" and _COLON.match(text, at)):
            name = _name(name, before, here, text, at)
        else:
            raise MismatchError(part.start(), _EXPECTED)
        line += here.count("\n")
        earlier, comment = comment, None
        before = here
    return chunks


def _begins_line(part: re.Match[str]) -> bool:
    return not part.string[part.string.rfind("\n", 0, part.start()) + 1 : part.start()].strip()


def _is_index(here: str, before: str) -> bool:
    """Return whether brackets with numbers are an index, or the size in a type, as they follow a name."""
    return here[0] == "[" and before[-1:].isalpha() and before not in ("return", "array")


def _is_type(text: str, part: re.Match[str]) -> bool:
    """Return whether brackets are the length in a type, such as [47]byte."""
    return part[0][0] == "[" and part[0][1:-1].isdecimal() and text[part.end() : part.end() + 1].isalpha()


def _is_code(kind: str, here: str, before: str, brackets: list[str]) -> bool:
    """Return whether a part other than a literal can follow the part before it in source code."""
    if kind == "number":
        return before in ("[", "(", "=", "@") or (before == "," and brackets[-1:] == ["("])
    if kind == "strings":
        return here[1:-1] in ("Buffer", "hex")
    if kind == "mark" and here in "([{":
        brackets.append(here)
    elif kind == "mark" and here in ")]}" and brackets:
        brackets.pop()
    return kind != "mark" or here in _MARKS


def _name(name: str | None, before: str, here: str, text: str, at: int) -> str | None:
    """Return the name of the variable that is being declared, after one more part."""
    if here == ";":
        return None
    is_name = re.match(r"[A-Za-z_$]", here) and here not in _TYPES and before != ":"
    return here if is_name and _DECLARES.match(text, at) else name


def _comment(space: str) -> str | None:
    """Return the text of the last comment, unless an empty line follows it."""
    comments = [*_COMMENT.finditer(space)]
    if not comments or space.count("\n", comments[-1].end()) > 1:
        return None
    return comment_text(comments[-1][0])


# Strings


def _strings(part: re.Match[str]) -> bytes | None:
    """Return the bytes of adjacent strings, or None if they are text.

    Strings are bytes if one has an escape or the prefix b, or if all are hex digits.
    """
    strings = [_string(piece) for piece in _PIECE.finditer(part[0]) if piece["string"]]
    bodies = [body for _, body, _ in strings]
    if not any(prefix for prefix, _, _ in strings):
        if _HEX.fullmatch("".join(bodies)):
            return bytes.fromhex("".join(bodies))
        if not any(map(_ESCAPED.search, bodies)):
            return None
    return b"".join(_bytes_of(prefix, body, part.start() + start) for prefix, body, start in strings)


def _string(piece: re.Match[str]) -> tuple[str, str, int]:
    """Return the prefix of a string, the text between its quotes, and where that text begins."""
    text = piece[0]
    if text.startswith("\\"):
        return "", text.rstrip(), piece.start()
    quoted = text.lstrip("bBrR")
    quotes = 3 if len(quoted) >= 6 and quoted[:3] in ('"""', "'''") else 1
    return text[: -len(quoted)].lower(), quoted[quotes:-quotes], piece.end() - len(quoted) + quotes


_DOUBLE = re.compile(r"\\\\x[0-9a-fA-F]{2}|\\\\u00[0-9a-fA-F]{2}")
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*+\\[^\\]")
_ESCAPE = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{2})|u(?P<unit>[0-9a-fA-F]{4})|(?P<octal>[0-7]{1,3})|(?P<fold>\n)|(?P<letter>[\s\S]))"
)
_LETTERS = dict(zip("abtnvfr\\'\"e?`/$#", b"\a\b\t\n\v\f\r\\'\"\x1b?`/$#", strict=True))
_PYTHON = frozenset("abtnvfr\\'\"")


def _bytes_of(prefix: str, body: str, start: int) -> bytes:
    r"""Return the bytes of a string, also of one whose escapes are escaped again, as in `"\\x00"` of JSON."""
    if "r" in prefix:
        return _encoded(body, start, "ascii")
    if not prefix and _DOUBLE.search(body) and not _SINGLE.search(body):
        body = body.replace("\\\\", "\\")
    return _unescaped(body, start, python="b" in prefix)


def _unescaped(body: str, start: int, *, python: bool = False) -> bytes:
    """Return the bytes of the text of a string. In a bytes literal of Python an unknown escape is two characters."""
    if python:
        encoding = "ascii"
    elif "\\u00" in body:
        encoding = "latin-1"
    else:
        encoding = "utf-8"
    out = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(body):
        place = start + escape.start()
        out += _encoded(body[at : escape.start()], start + at, encoding)
        at = escape.end()
        kind = escape.lastgroup or ""
        digits = escape[kind]
        if kind == "letter" and digits in (_PYTHON if python else _LETTERS):
            out.append(_LETTERS[digits])
        elif python and kind in ("letter", "unit") and digits != "x":
            out += _encoded(escape[0], place, encoding)
        elif kind == "letter":
            raise MismatchError(place, f"the escape \\{digits} is not a byte")
        elif kind != "fold":
            value = int(digits, 8 if kind == "octal" else 16)
            if value > 255:
                raise MismatchError(place, "this escape exceeds a byte")
            out.append(value)
    return bytes(out + _encoded(body[at:], start + at, encoding))


def _encoded(text: str, start: int, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise MismatchError(start + error.start, f"this character is no {encoding}") from None


# Lists and Buffers


def _numbers(text: str, start: int) -> bytes:
    out = bytearray()
    for match in _ELEMENT.finditer(text):
        if element := match["element"]:
            value = _value(element.rpartition(")")[2].strip() if element[0] == "(" else element)
            if value is None or not -128 <= value <= 255:
                raise MismatchError(start + match.start("element"), "expected a number from -128 to 255")
            out.append(value & 255)
    return bytes(out)


def _value(text: str) -> int | None:
    """Return the value of a number or of a character in quotes; None for other words, and for digits after a zero."""
    if text[0] == "'":
        data = _unescaped(text[1:-1], 0)
        return data[0] if len(data) == 1 else None
    if len(text) > 12 or (text[0] == "0" and len(text) > 1 and text.isdecimal()):
        return None
    try:
        return int(_SUFFIX.sub("", text), 0)
    except ValueError:
        return None


def _buffer(text: str, _start: int) -> bytes:
    return bytes.fromhex("".join(re.findall(r" ([0-9a-fA-F]{2})\b", text.partition("...")[0])))


def _cut_buffer(text: str, line: int, size: int) -> str:
    rest = text.partition("... ")[2].rstrip(">")
    are = "is" if rest.startswith("1 ") else "are"
    what = f"Node printed only the first {size} bytes; {rest} {are} missing"
    return f"line {line}: {what}; print buffer.toString('hex')"


def _numbered(text: str, start: int) -> bytes:
    """Return the bytes of an object whose keys are indexes, as JSON.stringify writes a Uint8Array."""
    pairs = re.findall(r"([0-9]+)[\"']\s*:\s*(-?[0-9]+)", text)
    if [key for key, _ in pairs] != [str(index) for index in range(len(pairs))]:
        raise MismatchError(start, "expected keys that count from 0")
    return _numbers(" ".join(value for _, value in pairs), start)


_DATA = {"buffer": _buffer, "numbered": _numbered, "list": _numbers}
