"""Literals of C, Java, Node, Python and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kwire_cli.source.text.model import (
    ZERO_BEFORE_DIGIT,
    Chunk,
    MismatchError,
    Reading,
    Token,
    Tokens,
    cut_note,
    first_visible,
    is_frame,
    unescape,
)

# The byte literals in a piece of source: what the languages share is read here, what differs is a `Language`.

Literal = Callable[[Token, Tokens], bytes | None]


# Words before a bracket or an equals sign that name a type, not what is declared.
_TYPES = ("byte", "bytes", "bytearray", "char", "Uint8Array")


def _nothing(_token: Token, _tokens: Tokens) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Language:
    """The properties that set a language apart.

    - `name`: the language in a sentence, "expected ... of {name}".
    - `expected`: the literals of the language, in words.
    - `lists`: the brackets that hold lists of bytes, by the opening bracket.
    - `string`: reads the bytes of a string that stands on its own, or None if the string holds no bytes. It may take
      tokens that belong to the string.
    - `calls`: functions that make bytes of what stands in their parentheses, by name. They are called with "(" as the
      next token. They return None if the parentheses hold no string: a list follows, which is read as any list.
    - `marks`: the punctuation that may stand around literals.
    - `joins`: the operator between two strings that are one literal.
    - `lines`: whether the end of a line ends a literal, outside all brackets.
    - `least`: the least element of a list. The greatest is 255.
    - `casts`: whether elements may carry a cast, be character constants, or begin with 0 and be octal.
    - `spaces`: whether spaces separate elements, where no comma stands.
    - `buffer`: reads the bytes of `<Buffer 00 2b>`.
    - `suffix`: the end that a number may have, as in `0x2bu8`.
    """

    name: str
    expected: str
    lists: dict[str, str]
    string: Literal = _nothing
    calls: dict[str, Callable[[Tokens], bytes | None]] = field(default_factory=dict)
    marks: str = ""
    joins: str = ""
    lines: bool = False
    least: int = 0
    casts: bool = False
    spaces: bool = False
    buffer: Literal = _nothing
    suffix: str = ""


def read_literals(text: str, language: Language) -> tuple[Chunk, ...]:
    """A chunk for each literal; strings side by side are one, unless each is a whole frame.

    MismatchError at the first token that has no place in `language`, and when there is no literal.
    """
    tokens = Tokens(text)
    chunks: list[Chunk] = []
    before = Token("end", "", 0, 1, None)
    name: str | None = None
    depth = 0
    while (token := tokens.take()).kind != "end":
        following = tokens.peek()
        label = name or token.comment or before.comment
        pieces: list[Chunk] = []
        if token.kind == "string":
            pieces = _strings(token, tokens, language, label, lines=language.lines and depth <= 0)
        elif token.kind == "buffer" and (data := language.buffer(token, tokens)) is not None:
            pieces = [Chunk(data, token.line, label)]
        elif token.kind == "word" and token.text in language.calls and following.text == "(":
            data = language.calls[token.text](tokens)
            pieces = [] if data is None else [Chunk(data, token.line, label)]
        elif token.text in language.lists and _is_list(before, token, following, language):
            pieces = [Chunk(_list(tokens, language, language.lists[token.text]), token.line, label)]
        else:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            _check_place(before, token, language)
            name = _name(name, before, token, following)
        if pieces:
            chunks += [piece for piece in pieces if piece.data]
            name = None
        before = token
    if not chunks:
        raise MismatchError(first_visible(text), f"expected {language.expected}")
    return tuple(chunks)


def _strings(token: Token, tokens: Tokens, language: Language, label: str | None, *, lines: bool) -> list[Chunk]:
    """A string and those that continue it, as one chunk, or each its own when each is a whole frame; none when they are
    no bytes.
    """
    pieces: list[Chunk] = []
    while True:
        data = language.string(token, tokens)
        if data is None:
            break
        pieces.append(Chunk(data, token.line, label if not pieces else token.comment))
        following = tokens.peek()
        last_line = token.line + token.text.count("\n")
        if lines and following.line > last_line:
            break
        if language.joins and following.text == language.joins:
            tokens.take()
            following = tokens.peek()
            if following.kind != "string":
                raise MismatchError(following.start, f"expected a literal after {language.joins}")
        if following.kind != "string":
            break
        token = tokens.take()
    if len(pieces) > 1 and not all(is_frame(piece.data) for piece in pieces):
        return [Chunk(b"".join(piece.data for piece in pieces), pieces[0].line, label)]
    return pieces


def _name(name: str | None, before: Token, token: Token, following: Token) -> str | None:
    """The name of what is being declared, after one more token."""
    if token.text == ";":
        return None
    annotation = before.text == ":"
    if token.kind == "word" and token.text not in _TYPES and not annotation and following.text in ("=", "[", ":"):
        return token.text
    return name


def _is_list(before: Token, token: Token, following: Token, language: Language) -> bool:
    """Return whether a bracket opens a list of bytes.

    The bracket is no index, and what follows could be an element or a cast.
    """
    if token.text == "[" and before.kind == "word" and before.text != "return" and before.text not in language.calls:
        return False
    return following.kind == "number" or (language.casts and (following.text == "(" or following.text.startswith("'")))


def _check_place(before: Token, token: Token, language: Language) -> None:
    """MismatchError when a token can stand nowhere, as far as one looks at the token before it."""
    if token.kind == "number" and before.text in ("[", "(", "="):
        return
    if token.kind in ("number", "buffer") or (token.kind == "mark" and token.text not in language.marks):
        raise MismatchError(token.start, f"expected {language.expected}")


def _list(tokens: Tokens, language: Language, closing: str) -> bytes:
    """The elements of a list of bytes up to its closing bracket, which is taken too."""
    out = bytearray()
    while True:
        out.append(_element(tokens, language))
        if language.spaces and tokens.peek().kind == "number":
            continue
        token = tokens.take()
        if token.text == ",":
            if tokens.peek().text != closing:
                continue
            token = tokens.take()
        if token.text == closing:
            return bytes(out)
        raise MismatchError(token.start, f"expected a comma or {closing}")


def _element(tokens: Tokens, language: Language) -> int:
    """One element, from 0 to 255."""
    token = tokens.take()
    if language.casts and token.text == "(":
        if tokens.take().kind != "word" or tokens.take().text != ")":
            raise MismatchError(token.start, "expected a cast, as in (byte) 0xff")
        token = tokens.take()
    if language.casts and token.kind == "string" and token.text.startswith("'"):
        data = unescape(*string_body(token), hex_digits=None)
        if len(data) == 1:
            return data[0]
    if token.text == ".":
        raise MismatchError(token.start, "the list was cut when it was printed: print all of it")
    value = number(token.text.removesuffix(language.suffix), octal=language.casts) if token.kind == "number" else None
    if value is None or not language.least <= value <= 255:
        raise MismatchError(token.start, f"expected a number from {language.least} to 255")
    return value & 255


def number(text: str, *, octal: bool) -> int | None:
    """The value of a decimal, 0x, 0o or 0b number; with `octal`, one that begins with 0 is octal, and U and L may end
    it. None: no number.
    """
    digits = text.rstrip("uUlL") if octal else text
    # No element is longer; int() of a long text is not linear.
    if not 0 < len(digits) <= 12:
        return None
    bare = digits.removeprefix("-")
    if octal and len(bare) > 1 and bare.isdigit() and bare[0] == "0":
        digits = f"{digits[: len(digits) - len(bare)]}0o{bare[1:]}"
    try:
        return int(digits, 0)
    except ValueError:
        return None


def parenthesis(tokens: Tokens) -> list[Token]:
    """The strings between "(", which is the next token, and ")": two at most count, the second an argument. Empty when
    something else follows "(".
    """
    tokens.take()
    strings: list[Token] = []
    while tokens.peek().kind == "string":
        strings.append(tokens.take())
        if tokens.peek().text == ",":
            tokens.take()
    if strings and (token := tokens.take()).text != ")":
        raise MismatchError(token.start, "expected ) after the string")
    return strings


def string_body(token: Token) -> tuple[str, int]:
    """Return the text between a string's quotes, and where that text begins in the whole text."""
    text = token.text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], token.end - len(text) + quotes


def encoded(token: Token, form: str) -> bytes:
    """The bytes of a string that holds hex or base64 (`form`); MismatchError where it does not."""
    from kwire_cli.source.text.reading import reader  # noqa: PLC0415 -- the registry lists the forms that use this

    body, start = string_body(token)
    if not body.strip():
        return b""
    try:
        return b"".join(chunk.data for chunk in reader(form)(body).chunks)
    except MismatchError as error:
        raise MismatchError(start + error.offset, error.reason) from None


# C: `{0x00, 0x2b}`, `"\x00\x2b"`, strings side by side, what `xxd -i` writes.


def read_c(text: str) -> Reading:
    """Bytes of each array and string; a string's closing NUL is not among them."""
    return Reading(read_literals(text, C), "C arrays or strings")


def _c_string(token: Token, _tokens: Tokens) -> bytes:
    if token.text[0].isalpha():
        raise MismatchError(token.start, "expected a string of plain chars, without a prefix")
    body, start = string_body(token)
    return unescape(body, start, hex_digits=None)


C = Language("C", "a C array or string", {"{": "}"}, string=_c_string, marks="{}[]()=;,*", least=-128, casts=True)


# Java: `[0, 0, 43, -1]` as Arrays.toString prints it, `new byte[] {0, (byte) 0xff}`,
# `HexFormat.of().parseHex("...")`.


def read_java(text: str) -> Reading:
    """Bytes of each list, signed or not."""
    return Reading(read_literals(text, JAVA), "lists of Java's signed bytes")


def _hex(tokens: Tokens) -> bytes | None:
    strings = parenthesis(tokens)
    return encoded(strings[0], "hex") if strings else None


JAVA = Language(
    "Java",
    "a list of bytes, as in [0, 43, -1]",
    {"[": "]", "{": "}"},
    calls={"parseHex": _hex},
    marks="{}[]()=;,.",
    least=-128,
    casts=True,
)


# Go: `[0 0 0 43]` as `%v` prints it, `"\x00\x00\x00+"` as `%q` does, `[]byte{0x00, 0x2b}`.


def read_go(text: str) -> Reading:
    r"""Return the bytes of each list and string. A \x escape takes two digits, as in Ruby and JavaScript."""
    return Reading(read_literals(text, GO), "Go byte slices or strings")


def _go_string(token: Token, _tokens: Tokens) -> bytes:
    if not token.text.startswith('"') or "\\x" not in token.text:
        raise MismatchError(token.start, "expected a string in double quotes with \\x escapes")
    return unescape(*string_body(token))


GO = Language(
    "Go",
    "a Go byte slice or string",
    {"[": "]", "{": "}"},
    string=_go_string,
    marks="{}[]()=;,:",
    spaces=True,
)


# Node: `<Buffer 00 2b>`, `Buffer.from([...])`, `Buffer.from("...", "hex")`, `Uint8Array(2) [ 0, 43 ]`.


_PRINTED = re.compile(r"<(?:Slow)?Buffer((?: [0-9a-fA-F]{2})*+)(?: \.\.\. ([0-9]++ more bytes?))?")


def read_node(text: str) -> Reading:
    """Bytes of each Buffer or Uint8Array, printed or in source; a note for each Buffer that was cut when printed."""
    if "Buffer" not in text and "Uint8Array" not in text:
        raise MismatchError(first_visible(text), f"expected {NODE.expected}")
    notes = tuple(
        cut_note(text.count("\n", 0, match.start()) + 1, len(match[1]) // 3, match[2])
        for match in _PRINTED.finditer(text)
        if match[2]
    )
    return Reading(read_literals(text, NODE), "Node Buffers or Uint8Arrays", notes)


def _printed(token: Token, _tokens: Tokens) -> bytes:
    match = _PRINTED.match(token.text)
    end = match.end() if match else 0
    rest = token.text[end:]
    if match is None or rest != ">":
        good = re.match(r" ?[0-9a-fA-F]?", rest)
        raise MismatchError(token.start + end + (good.end() if good else 0), "expected a byte of two hex digits, or >")
    return bytes.fromhex(match[1])


def _buffer_from(tokens: Tokens) -> bytes | None:
    """The bytes of Buffer.from(string, encoding); None when its argument is a list."""
    strings = parenthesis(tokens)
    if not strings:
        return None
    encoding = string_body(strings[1])[0].lower() if len(strings) > 1 else "utf8"
    if encoding in ("hex", "base64", "base64url"):
        return encoded(strings[0], encoding.removesuffix("url"))
    body, start = string_body(strings[0])
    # A \x escape is a character there: the same byte in latin1, and in UTF-8 as long as it is ASCII.
    data = unescape(body, start, encoding="latin-1" if encoding in ("latin1", "binary") else "utf-8")
    if encoding not in ("latin1", "binary", "ascii", "utf8", "utf-8") or (
        encoding.startswith("utf") and not data.isascii()
    ):
        raise MismatchError(strings[-1].start, "expected the encoding hex, base64, base64url or latin1")
    return data


NODE = Language(
    "Node",
    "a Buffer or a Uint8Array",
    {"[": "]"},
    calls={"Buffer.from": _buffer_from},
    marks="[](){}=;,:",
    least=-128,
    buffer=_printed,
)


# Python: `b'...'`, `bytes.fromhex("...")`, `bytearray([...])`, lists of ints.


def read_python(text: str) -> Reading:
    """Bytes of each literal; as in Python, literals on lines of their own are continued only inside brackets."""
    return Reading(read_literals(text, PYTHON), "Python bytes literals or lists of ints")


def _python_string(token: Token, _tokens: Tokens) -> bytes:
    body, start = string_body(token)
    prefix = token.text.partition(token.text[-1])[0].lower()
    if prefix not in ("b", "rb", "br"):
        raise MismatchError(token.start, "expected a bytes literal, as in b'...', not a string")
    if "r" in prefix:
        return unescape(body.replace("\\", "\\\\"), start, encoding="ascii")
    return unescape(body, start, encoding="ascii", keep_unknown=True)


def _decoder(form: str) -> Callable[[Tokens], bytes | None]:
    def decode(tokens: Tokens) -> bytes | None:
        strings = parenthesis(tokens)
        return b"".join(encoded(string, form) for string in strings) if strings else None

    return decode


_HEX, _BASE64 = _decoder("hex"), _decoder("base64")

PYTHON = Language(
    "Python",
    "a Python bytes literal or a list of ints",
    {"[": "]"},
    string=_python_string,
    calls={
        "bytes.fromhex": _HEX,
        "bytearray.fromhex": _HEX,
        "unhexlify": _HEX,
        "binascii.unhexlify": _HEX,
        "b64decode": _BASE64,
        "base64.b64decode": _BASE64,
    },
    marks="[]()=;,:|",
    joins="+",
    lines=True,
)


# Rust: `b"\0\x2b"` as the crate `bytes` prints it, `[0x00u8, 0x2b]`.


def read_rust(text: str) -> Reading:
    r"""Bytes of each literal and list. \0 is a whole escape, so a digit after it is a byte of its own."""
    notes = (
        ("\\0 before a digit is read as in Rust, as a zero and the digit; --input python reads an octal escape",)
        if ZERO_BEFORE_DIGIT.search(text)
        else ()
    )
    return Reading(read_literals(text, RUST), "Rust byte strings or arrays of u8", notes)


def _rust_string(token: Token, _tokens: Tokens) -> bytes:
    if not token.text.startswith('b"'):
        raise MismatchError(token.start, 'expected a byte string, as in b"\\x00"')
    body, start = string_body(token)
    # The zero as \x00, which no digit after it changes; the text keeps its places but for those after a slip.
    return unescape(re.sub(r"(\\[^0])|\\0", lambda match: match[1] or r"\x00", body), start, encoding="ascii")


RUST = Language(
    "Rust",
    "a byte string or an array of u8",
    {"[": "]"},
    string=_rust_string,
    marks="[](){}=;,:&!<>",
    suffix="u8",
)


# Erlang and Elixir: `<<0,0,0,43>>`.


def read_erlang(text: str) -> Reading:
    """Bytes of each binary that is written in numbers."""
    if "<<" not in text:
        raise MismatchError(first_visible(text), f"expected {ERLANG.expected}")
    return Reading(read_literals(text.replace("<<", " [").replace(">>", "] "), ERLANG), "Erlang binaries")


ERLANG = Language("Erlang", "a binary, as in <<0,0,0,43>>", {"[": "]"}, marks="[]{}()=,;:|>-.")


# JSON: `[0, 0, 0, 43]` and `{"type": "Buffer", "data": [0, 0, 0, 43]}`, also several, or inside other arrays
# and objects.


def read_json(text: str) -> Reading:
    """Bytes of each array of ints from 0 to 255."""
    return Reading(read_literals(text, JSON), "JSON arrays of ints")


def _json_string(token: Token, tokens: Tokens) -> None:
    """Nothing: a string is a key, or the type of what Node's Buffer.toJSON writes."""
    if tokens.peek().text != ":" and token.text != '"Buffer"':
        raise MismatchError(token.start, "expected an array of ints from 0 to 255")


JSON = Language("JSON", "a JSON array of ints from 0 to 255", {"[": "]"}, string=_json_string, marks="[]{},:")
