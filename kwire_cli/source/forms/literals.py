"""The byte literals in a piece of source: what the languages share is read here, what differs is a `Language`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kwire_cli.source.forms.escapes import unescape
from kwire_cli.source.forms.model import Chunk, MismatchError, first_visible, is_frame
from kwire_cli.source.forms.tokens import Token, Tokens

Literal = Callable[[Token, Tokens], bytes | None]


# Words before a bracket or an equals sign that name a type, not what is declared.
_TYPES = ("byte", "bytes", "bytearray", "char", "Uint8Array")


def _nothing(_token: Token, _tokens: Tokens) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Language:
    """What sets a language apart.

    Args:
        name: In a sentence: "expected ... of {name}".
        expected: The literals it has, in words.
        lists: The brackets that hold lists of bytes, by the opening one.
        string: The bytes of a string that stands on its own, None when it is none; it may take tokens that belong to it.
        calls: Functions that make bytes of what stands in their parentheses, by name; called with "(" as the next token. None when they
            hold no string: a list follows, which is read as any.
        marks: The punctuation that may stand around literals.
        joins: The operator between two strings that are one literal.
        lines: Whether a line's end ends a literal, outside all brackets.
        least: The least element of a list; the greatest is 255.
        casts: Whether elements may carry a cast, or be character constants, or begin with 0 and be octal.
        buffer: The bytes of `<Buffer 00 2b>`.

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
    buffer: Literal = _nothing


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
    """A string and those that continue it, as one chunk, or each its own when each is a whole frame; none when they are no bytes."""
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
    """Whether a bracket opens a list of bytes: it is no index, and what follows could be an element or a cast."""
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
    value = number(token.text, octal=language.casts) if token.kind == "number" else None
    if value is None or not language.least <= value <= 255:
        raise MismatchError(token.start, f"expected a number from {language.least} to 255")
    return value & 255


def number(text: str, *, octal: bool) -> int | None:
    """The value of a decimal, 0x, 0o or 0b number; with `octal`, one that begins with 0 is octal, and U and L may end it. None: no number."""
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
    """The strings between "(", which is the next token, and ")": two at most count, the second an argument. Empty when something else follows "("."""
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
    """What stands between a string's quotes, and where it begins in the whole text."""
    text = token.text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], token.end - len(text) + quotes


def encoded(token: Token, form: str) -> bytes:
    """The bytes of a string that holds hex or base64 (`form`); MismatchError where it does not."""
    from kwire_cli.source.forms import reader  # noqa: PLC0415 -- the registry lists the forms that use this

    body, start = string_body(token)
    if not body.strip():
        return b""
    try:
        return b"".join(chunk.data for chunk in reader(form)(body).chunks)
    except MismatchError as error:
        raise MismatchError(start + error.offset, error.reason) from None
