"""Bytes from what a user gives: text in any of the forms that tools print bytes in, or raw bytes."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from kwire_cli.errors import InputError
from kwire_cli.source.binary import as_text, begins_as_text, recognised_binary
from kwire_cli.source.forms import OTHER_FORMS, READERS, ROW_FORMS, reader
from kwire_cli.source.forms.model import Chunk, MismatchError, Reading
from kwire_cli.source.packing import PIECE

__all__ = ["FORMS", "Chunk", "Input", "read_input", "recognised_binary"]

FORMS: tuple[str, ...] = ("auto", *READERS, "raw")

TEXT_LIMIT = 256 << 20
"""Bytes of a text that are read: forms are recognised by all of it, which takes several times as much memory."""
_SEEN = 1 << 16
"""Bytes that tell whether an input may be text."""

# Pages on the web hold no-break spaces where the dump had spaces.
_SPACES = {0xA0: " ", 0x2007: " ", 0x202F: " "}


@dataclass(frozen=True, slots=True)
class Input:
    """What was read: the form (one of FORMS, never auto), its chunks, at least one, and a sentence on what was recognised and why.

    `notes` say what is missing in it, with its place.
    """

    form: str
    chunks: tuple[Chunk, ...]
    detail: str
    notes: tuple[str, ...] = ()


def read_content(source: IO[bytes], form: str = "auto", *, file: str | None = None, limit: int = TEXT_LIMIT) -> bytes:
    """Read the rest of an open file. InputError if it is text of more than `limit` bytes: no more of it is read then."""
    start = source.read(_SEEN)
    if not _is_limited(start, form):
        return start + source.read()
    pieces, size = [start], len(start)
    while size and size <= limit and (more := source.read(min(PIECE, limit + 1 - size))):
        pieces.append(more)
        size += len(more)
    data = b"".join(pieces)
    check_size(data, form, file=file, limit=limit)
    return data


def _is_limited(start: bytes, form: str) -> bool:
    """Whether an input that begins so is read as text."""
    return form != "raw" and (form != "auto" or begins_as_text(start[:_SEEN]))


def check_size(data: Any, form: str, *, file: str | None = None, limit: int = TEXT_LIMIT) -> None:
    """Raise InputError if bytes are text of more than `limit` bytes."""
    if len(data) > limit and _is_limited(bytes(data[:_SEEN]), form):
        raise InputError(
            f"this text is larger than {limit >> 20} MiB: give a part of it (head -c, split), or its bytes (xxd -r -p FILE | kwire decode -); "
            "captures and raw bytes may be larger",
            file=file,
        )


def read_input(data: bytes, form: str = "auto", *, file: str | None = None, limit: int = TEXT_LIMIT) -> Input:
    """The bytes that `data` holds, written in `form`; auto decides by `data` alone.

    Args:
        data: A file's content or a command's argument.
        form: One of FORMS.
        file: Names the input in errors.
        limit: Bytes of a text that may be read.

    Raises:
        InputError: The input is empty or a text beyond the limit, no form fits, or `form` does not; line and column are of the first character that
            does not fit.

    """
    if form not in FORMS:
        raise InputError(f"there is no input form {form!r}; there are {', '.join(FORMS)}", file=file)
    if not data:
        raise InputError("the input is empty", file=file)
    check_size(data, form, file=file, limit=limit)
    if form == "raw":
        return _raw(data, "as asked")
    if form == "auto":
        what = recognised_binary(data)
        if what is not None:
            raise InputError(f"this is {what}, which is not text; `--input raw` takes its bytes", file=file)
        text = as_text(data)
        if text is None:
            return _raw(data, "it holds control characters or is not UTF-8, so it is not text")
    else:
        text = as_text(data) or _decoded(data, form, file)
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES)
    try:
        return _guess(text) if form == "auto" else _read(text, form, "as asked")
    except MismatchError as error:
        line, column = _position(text, error.offset)
        hint = f"; {_hint(text)}" if form != "auto" else ""
        raise InputError(f"{error.reason}{hint}", file=file, line=line, column=column) from None


def _raw(data: bytes, why: str) -> Input:
    return Input("raw", (Chunk(data, 0, None),), f"raw: {len(data)} bytes; {why}")


def _decoded(data: bytes, form: str, file: str | None) -> str:
    """The text of bytes that are not plainly text, for a form that was asked for."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"), None)
        raise InputError(f"not UTF-8, so not {form}; try --input raw", file=file, line=line, column=column) from None


def _position(text: str, offset: int | None) -> tuple[int, int]:
    """Line and column, from 1, of an offset in the text, or of the text's end."""
    before = text[:offset]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _read(text: str, form: str, why: str) -> Input:
    """The text read in one form; MismatchError when it is not in that form, or holds no bytes."""
    reading: Reading = reader(form)(text)
    size = sum(len(chunk.data) for chunk in reading.chunks)
    if not size:
        raise MismatchError(0, f"no bytes in this {form} input")
    chunks = f" in {len(reading.chunks)} chunks" if len(reading.chunks) > 1 else ""
    return Input(form, reading.chunks, f"{form}: {size} bytes{chunks}; {reading.detail}; {why}", reading.notes)


def _guess(text: str) -> Input:
    """The text read in the first form that fits all of it; MismatchError, as of the form that it comes nearest to, when none does."""
    failures: list[tuple[str, MismatchError]] = []
    for form in (*ROW_FORMS, *OTHER_FORMS):
        if form == OTHER_FORMS[0] and any(error.sure for _, error in failures):
            # Rows with offsets, one of them broken: read as plain hex, the offsets would become bytes.
            failures = [failure for failure in failures if failure[1].sure]
            break
        try:
            if form == "base64":
                _refuse_words(text)
            found = _read(text, form, _why(form))
        except MismatchError as error:
            failures.append((form, error))
            if error.sure and form in OTHER_FORMS:
                with suppress(MismatchError):
                    return _read(text, "log", _why("log"))
                failures = failures[-1:]
                break
        else:
            if form == "hexdump":
                _refuse_other_radix(text, found)
            return found
    if failures[-1][1].sure:
        form, best = max(failures, key=lambda failure: failure[1].offset)
        raise MismatchError(best.offset, f"this is {form}: {best.reason}")
    from kwire_cli.source.forms.nearest import described, nearest  # noqa: PLC0415 - start-up counts

    first, second = nearest(text, failures)
    near = f"{described(*first, text, place=False)}; or {described(*second, text, place=True)}"
    raise MismatchError(first[1].offset, f"no form fits; nearest is {near}; --input names the form{_json_hint(text)}")


def _json_hint(text: str) -> str:
    """What to do with JSON that kwire printed."""
    return "; kwire encode makes bytes of JSON" if text.lstrip()[:1] == "{" and '"apiKey"' in text else ""


def _why(form: str) -> str:
    """Why auto takes a form, given that those before it did not fit."""
    if form == "hex":
        return "every character fits, and hex goes before base64"
    if form == "base64":
        return "every character fits, and it is not hex"
    if form == "log":
        return "no form fits all of it"
    return "every line fits" if form in ROW_FORMS else "every token fits"


def _refuse_other_radix(text: str, found: Input) -> None:
    """MismatchError when a hexdump reads as well as od, with octal offsets, and `*` stands for another number of rows."""
    star = text.find("*")
    if star < 0:
        return
    try:
        other = _read(text, "od", "")
    except MismatchError:
        return
    if [chunk.data for chunk in other.chunks] != [chunk.data for chunk in found.chunks]:
        raise MismatchError(
            star, "these offsets are hex as well as octal, and `*` stands for another number of bytes in each; say --input hexdump or od"
        )


def _refuse_words(text: str) -> None:
    """MismatchError for text that is base64 only by chance: a lower-case word, or hex digits with a slip among them."""
    # Comments are no digits; blanks in their place leave all others where they are.
    text = re.sub(r"(?m)^[ \t]*(?:# |// ).*$", lambda comment: " " * len(comment[0]), text)
    digits = text.strip()
    if digits.isalpha() and digits.islower():
        raise MismatchError(len(text) - len(text.lstrip()), "a word in lower case is hardly base64; --input base64 reads it so")
    strange = [index for index, character in enumerate(text) if character not in "0123456789abcdefABCDEF" and not character.isspace()]
    if 0 < len(strange) <= 2 and len(digits) >= 16 and "=" not in digits:
        raise MismatchError(strange[0], "expected a hex digit, as nearly all of this are; --input base64 reads it as that")


def _hint(text: str) -> str:
    """What to try where the form asked for does not fit."""
    try:
        return f"try --input {_guess(text).form}, which fits"
    except MismatchError:
        return "try --input auto, or raw"
