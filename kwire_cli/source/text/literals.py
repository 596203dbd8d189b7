"""Literals of programming languages, and of the tools that print bytes as source code.

The input is read as tokens. Lists, strings, binaries and Buffers become bytes, and everything around them has to look
like source code. The language is not guessed: one grammar reads all of them, and a `Dialect` decides the few escapes
that mean different bytes in two languages.
"""

from __future__ import annotations

import re

from kwire_cli.source.text.model import Chunk, MismatchError, Reading, first_visible, is_frame
from kwire_cli.source.text.reading import reader
from kwire_cli.source.text.tokens import Dialect, Token, Tokens, unescape, unescape_string

_C = Dialect(named=True, long_hex=True)
_PYTHON = Dialect(named=True, lenient=True)
_RUST = Dialect(named=True, short_zero=True)
_EXPECTED = "a list, a string or a Buffer that holds bytes"
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_JOINS = ("+", "++", "<>", ".")
_MARKS = {*"[](){}<>=;,.:|&!*+-@?/", "<<", ">>", "::", *_JOINS}
# Words before a bracket or an equals sign that name a type, not the variable.
_TYPES = ("byte", "bytes", "bytearray", "char", "Uint8Array")
_DECODERS = {
    **dict.fromkeys(("fromhex", "unhexlify", "parseHex", "FromHexString"), "hex"),
    **dict.fromkeys(("b64decode", "FromBase64String"), "base64"),
    "from": "Buffer",
}
_MAX_BITS = 1024
"""Bits of a number in a binary. A larger size is refused, because it may be any number."""

_MAX_DEPTH = 32
_MAX_DIGITS = 40
_SUFFIX = re.compile(r"_?(?:[ui]8|[uUlL]{1,3})$")
_OCTAL = re.compile(r"^-?0(?=[0-9]+$)")

_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}+")
_ESCAPED = re.compile(r"\\[^\s]")
_ZERO_BEFORE_DIGIT = re.compile(r"(?:[^\\]|\\[^0]|\\0(?![0-7]))*+\\0[0-7]")
"""A string such as "\\02", which Rust reads as two bytes, and Python as one."""
_PRINTED = re.compile(r"<(?:Slow)?Buffer((?: [0-9a-fA-F]{2})*+)(?: \.\.\. ([0-9]++ more bytes?))?")


def read_literals(text: str) -> Reading:
    """Read literals of any language."""
    return _Reader(text, Dialect()).read()


def read_c(text: str) -> Reading:
    r"""Read literals as C means them: a `\x` escape takes all hex digits that follow."""
    return _Reader(text, _C).read()


def read_python(text: str) -> Reading:
    """Read literals as Python means them: an unknown escape is two characters."""
    return _Reader(text, _PYTHON).read()


def read_rust(text: str) -> Reading:
    r"""Read literals as Rust means them: a digit after `\0` is a separate byte."""
    return _Reader(text, _RUST).read()


def literal_bytes(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of one literal, and the notes on them."""
    reading = read_literals(text)
    return b"".join(chunk.data for chunk in reading.chunks), reading.notes


class _Reader:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._tokens = Tokens(text)
        self._open: list[str] = []
        self._notes: list[str] = []

    def read(self) -> Reading:
        """Return a chunk for each literal. Adjacent strings are one chunk, unless each of them is a whole frame."""
        chunks: list[Chunk] = []
        before = Token("end", "", 0, 1, None)
        name: str | None = None
        while (token := self._tokens.take()).kind != "end":
            label = name or token.comment or before.comment
            pieces = self._literal(before, token, label)
            if pieces is None:
                self._check_place(before, token)
                name = _name(name, before, token, self._tokens.peek())
            else:
                chunks += [piece for piece in self._joined(pieces) if piece.data]
                name = None
            before = token
        if not chunks:
            raise MismatchError(first_visible(self._text), f"expected {_EXPECTED}")
        return Reading(tuple(chunks), "literals of a programming language", tuple(self._notes))

    def _literal(self, before: Token, token: Token, label: str | None = None) -> list[Chunk] | None:
        """Return the chunks of the literal that begins with this token, or None if none does."""
        following = self._tokens.peek()
        data: bytes | None = None
        if token.kind == "string" or (token.kind == "bare" and self._begins_line(token)):
            return self._strings(token, label)
        if token.kind == "buffer":
            data = self._buffer(token)
        elif (
            token.text == "(" and following.kind == "string" and (form := _DECODERS.get(before.text.rpartition(".")[2]))
        ):
            data = self._call(form)
        elif token.text == "0" and following.text == "=":
            data = self._elements()
        elif token.kind == "number" and before.kind == "end" and (following.text == "," or following.kind == "number"):
            data = self._list("", token)
        elif token.text == "<<":
            data = self._binary()
        elif token.text == "{" and following.kind == "string" and following.body[0] == "0":
            data = self._numbered()
        elif token.text in _CLOSING and _is_list(before, token, following):
            data = self._list(_CLOSING[token.text])
        return None if data is None else [Chunk(data, token.line, label)]

    def _begins_line(self, token: Token) -> bool:
        return not self._text[self._text.rfind("\n", 0, token.start) + 1 : token.start].strip()

    def _joined(self, pieces: list[Chunk]) -> list[Chunk]:
        """Return the pieces with the literals that an operator appends to them."""
        joined = list(pieces)
        while (operator := self._tokens.peek()).text in _JOINS:
            self._tokens.take()
            following = self._tokens.peek()
            if operator.text == "." and following.kind != "string" and following.text[:1] != "$":
                break  # the end of a statement, or a method
            if following.kind == "string":
                added = self._strings(self._tokens.take(), None, joined=True)
            else:
                added = self._literal(operator, self._tokens.take())
            if added is None:
                raise MismatchError(following.start, f"expected a literal after {operator.text}")
            joined += added
        if len(joined) == len(pieces):
            return pieces
        return [Chunk(b"".join(piece.data for piece in joined), pieces[0].line, pieces[0].label)]

    # Strings

    def _strings(self, token: Token, label: str | None, *, joined: bool = False) -> list[Chunk] | None:
        """Return the bytes of a string and of those right after it, or None if they hold text."""
        strings = [token]
        while (following := self._tokens.peek()).kind in ("string", "bare"):
            last = strings[-1]
            # In Python a string on the next line belongs to the one before only inside brackets.
            if "b" in last.prefix and not self._open and following.line > last.line + last.text.count("\n"):
                break
            strings.append(self._tokens.take())
        parts = self._decoded(strings, joined=joined)
        if parts is None:
            return None
        if self._text.startswith("...", strings[-1].end):
            self._notes.append(
                f"line {strings[-1].line}: the string was cut when it was printed; strace -s 65535 cuts less"
            )
            for _ in range(3):
                self._tokens.take()
        if len(parts) > 1 and all(map(is_frame, parts)):
            labels = [label, *(string.comment for string in strings[1:])]
            return [Chunk(part, string.line, name) for part, string, name in zip(parts, strings, labels, strict=True)]
        return [Chunk(b"".join(parts), token.line, label)]

    def _decoded(self, strings: list[Token], *, joined: bool) -> list[bytes] | None:
        """Return the bytes of adjacent strings, or None if they hold text.

        Strings are bytes if one has an escape or the prefix b, if all are hex digits, or if they are joined to bytes.
        """
        bodies = [string.body[0] for string in strings]
        if any(set(string.prefix) - set("br") for string in strings):
            raise MismatchError(strings[0].start, "expected a string without a prefix, or with the prefix b")
        if any(string.prefix for string in strings) or self._dialect.named:
            return [self._string(string) for string in strings]
        if _HEX.fullmatch("".join(bodies)):
            return [bytes.fromhex("".join(bodies))]
        if joined or any(map(_ESCAPED.search, bodies)):
            return [self._string(string) for string in strings]
        return None

    def _string(self, string: Token) -> bytes:
        body, start = string.body
        if not string.prefix:
            return unescape_string(body, start, self._dialect)
        if "r" in string.prefix:
            body = body.replace("\\", "\\\\")
        data = unescape(body, start, self._dialect if self._dialect.named else _PYTHON, encoding="ascii")
        if self._dialect.named or '"' not in string.text or not _ZERO_BEFORE_DIGIT.match(body) or is_frame(data):
            return data
        self._notes.append(
            "\\0 before a digit is read as in Rust, as a zero and the digit; --input python reads an octal escape"
        )
        return unescape(body, start, _RUST, encoding="ascii")

    def _buffer(self, token: Token) -> bytes:
        match = _PRINTED.match(token.text)
        end = match.end() if match else 0
        rest = token.text[end:]
        if match is None or rest != ">":
            good = re.match(r" ?[0-9a-fA-F]?", rest)
            at = token.start + end + (good.end() if good else 0)
            raise MismatchError(at, "expected a byte of two hex digits, or >")
        data = bytes.fromhex(match[1])
        if match[2]:
            are = "is" if match[2].startswith("1 ") else "are"
            self._notes.append(
                f"line {token.line}: Node printed only the first {len(data)} bytes; {match[2]} {are} missing; "
                "print buffer.toString('hex')"
            )
        return data

    # Functions that make bytes of a string

    def _call(self, form: str) -> bytes:
        """Return the bytes of the strings up to the closing parenthesis, which is taken too."""
        strings: list[Token] = []
        while self._tokens.peek().kind == "string":
            strings.append(self._tokens.take())
            if self._tokens.peek().text == ",":
                self._tokens.take()
        closing = self._tokens.take()
        if closing.text != ")":
            raise MismatchError(closing.start, "expected ) after the string")
        if form == "Buffer":
            return _buffer_from(strings)
        return b"".join(_encoded(string, form) for string in strings)

    # Lists

    def _list(self, closing: str, first: Token | None = None) -> bytes | None:
        """Return the elements of a list up to its closing bracket, or without brackets up to the end."""
        out = bytearray()
        while True:
            out.append(self._element(first or self._tokens.take()))
            first = None
            token = self._tokens.peek()
            if token.text == ",":
                self._tokens.take()
                token = self._tokens.peek()
            if token.text == closing:
                break
            if token.kind != "number" and token.text[:1] not in ("(", "'", "."):
                raise MismatchError(token.start, f"expected a comma or {closing or 'a number'}")
        if closing:
            self._tokens.take()
            following = self._tokens.peek()
            if len(out) == 1 and following.kind == "word" and following.start == token.end:
                return None  # the length in a type, such as [47]byte
            if out == b"\0" and following.text == "=":
                return self._elements()
        return bytes(out)

    def _element(self, token: Token) -> int:
        """Return one element, from 0 to 255."""
        if token.text == "(":
            if self._tokens.take().kind != "word" or self._tokens.take().text != ")":
                raise MismatchError(token.start, "expected a cast, as in (byte) 0xff")
            token = self._tokens.take()
        if token.kind == "string" and token.text.startswith("'"):
            data = unescape(*token.body, self._dialect)
            if len(data) == 1:
                return data[0]
        if token.text == ".":
            raise MismatchError(token.start, "the list was cut when it was printed: print all of it")
        value = number(token.text) if token.kind == "number" else None
        if value is None or not -128 <= value <= 255:
            raise MismatchError(token.start, "expected a number from -128 to 255")
        return value & 255

    def _numbered(self) -> bytes:
        """Return the bytes of an object whose keys are indexes, as JSON.stringify writes a Uint8Array."""
        out = bytearray()
        while True:
            key = self._tokens.take()
            if key.kind != "string" or key.body[0] != str(len(out)) or self._tokens.take().text != ":":
                raise MismatchError(key.start, f'expected the key "{len(out)}"')
            out.append(self._element(self._tokens.take()))
            token = self._tokens.take()
            if token.text == "}":
                return bytes(out)
            if token.text != ",":
                raise MismatchError(token.start, "expected a comma or }")

    def _elements(self) -> bytes:
        """Return the bytes of an array that a debugger prints one element a line, as in `0 = 43` or `[0] = 43`."""
        out = bytearray()
        while (token := self._tokens.take()).kind != "end":
            if token.text == "=":
                token = self._tokens.take()
                out.append(self._element(token))
                while self._tokens.peek().line == token.line and self._tokens.peek().kind != "end":
                    self._tokens.take()
            elif token.kind == "number" and token.text != str(len(out)):
                raise MismatchError(token.start, f"element {len(out)} is missing: copy all of them")
            elif token.kind != "number" and token.text not in ("[", "]"):
                raise MismatchError(token.start, "expected an element of an array, as in 0 = 43")
        return bytes(out)

    # Binaries of Erlang and Elixir

    def _binary(self, depth: int = 0) -> bytes:
        """Return the segments of a binary up to its `>>`, which is taken too."""
        out = bytearray()
        while (token := self._tokens.take()).text != ">>":
            if token.kind == "string":
                out += unescape(*token.body, self._dialect)
                self._size()
            elif token.text == "<<" and depth < _MAX_DEPTH:
                out += self._binary(depth + 1)
                self._size()
            else:
                value = number(token.text) if token.kind == "number" else None
                bits, little = self._size()
                if value is None or value >> bits not in (0, -1):
                    raise MismatchError(token.start, f"expected a number of {bits} bits")
                out += (value & ((1 << bits) - 1)).to_bytes(bits // 8, "little" if little else "big")
            following = self._tokens.peek()
            if following.text == ",":
                self._tokens.take()
            elif following.text != ">>":
                raise MismatchError(following.start, "expected a comma or >>")
        return bytes(out)

    def _size(self) -> tuple[int, bool]:
        """Return the bits of a segment, and whether it is little-endian, as in `9::16-little` or `9:16/little`."""
        bits = 8
        little = False
        while (token := self._tokens.peek()).text in ("::", ":", "/", "-", "(", ")") or token.kind in (
            "number",
            "word",
        ):
            self._tokens.take()
            if token.kind == "number":
                bits = abs(number(token.text) or 0)  # `-16` after a type is one token
                if not bits or bits % 8 or bits > _MAX_BITS:
                    raise MismatchError(token.start, f"expected whole bytes, at most {_MAX_BITS} bits")
            little = little or token.text == "little"
        return bits, little

    def _check_place(self, before: Token, token: Token) -> None:
        """Raise MismatchError if a token cannot follow the token before it in source code."""
        if token.text in ("(", "[", "{"):
            self._open.append(token.text)
        elif token.text in (")", "]", "}") and self._open:
            self._open.pop()
        argument = before.text == "," and self._open[-1:] == ["("]
        if token.kind == "number" and (argument or before.text in ("[", "(", "=", "@")):
            return
        if token.kind == "string" and (self._tokens.peek().text == ":" or token.body[0] == "Buffer"):
            return
        if token.kind in ("number", "string", "bare", "buffer") or (token.kind == "mark" and token.text not in _MARKS):
            raise MismatchError(token.start, f"expected {_EXPECTED}")


def _name(name: str | None, before: Token, token: Token, following: Token) -> str | None:
    """Return the name of the variable that is being declared, after one more token."""
    if token.text == ";":
        return None
    annotation = before.text == ":"
    if token.kind == "word" and token.text not in _TYPES and not annotation and following.text in ("=", "[", ":"):
        return token.text
    return name


def _is_list(before: Token, token: Token, following: Token) -> bool:
    """Return whether a bracket opens a list of bytes, and not an index."""
    if token.text == "(" and before.text != "byteArrayOf":
        return False
    if token.text == "[" and before.kind == "word" and before.text not in ("return", "array"):
        return False
    return following.kind == "number" or following.text == "(" or following.text.startswith("'")


def number(text: str) -> int | None:
    """Return the value of a decimal, 0x, 0o or 0b number. A leading zero makes it octal. None for other words."""
    # int() of a long text is not linear.
    if len(text) > _MAX_DIGITS:
        return None
    if not text.isdecimal() or text[0] == "0":
        text = _SUFFIX.sub("", text)
        text = _OCTAL.sub(r"\g<0>o", text)
    try:
        return int(text, 0)
    except ValueError:
        return None


def _encoded(token: Token, form: str) -> bytes:
    """Return the bytes of a string that holds hex or base64."""
    body, start = token.body
    if not body.strip():
        return b""
    try:
        return b"".join(chunk.data for chunk in reader(form)(body).chunks)
    except MismatchError as error:
        raise MismatchError(start + error.offset, error.reason) from None


def _buffer_from(strings: list[Token]) -> bytes:
    """Return the bytes of Buffer.from(string, encoding)."""
    encoding = strings[1].body[0].lower() if len(strings) > 1 else "utf8"
    if encoding in ("hex", "base64", "base64url"):
        return _encoded(strings[0], encoding.removesuffix("url"))
    single = encoding in ("latin1", "binary")
    # An escape is a character there: the same byte in latin1, and in UTF-8 as long as it is ASCII.
    data = unescape(*strings[0].body, Dialect(), encoding="latin-1" if single else "utf-8")
    if not single and (encoding not in ("ascii", "utf8", "utf-8") or (encoding[:3] == "utf" and not data.isascii())):
        raise MismatchError(strings[-1].start, "expected the encoding hex, base64, base64url or latin1")
    return data
