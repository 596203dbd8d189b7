"""Encoded bytes in text: the forms by name, the recognition of a form, and the frames in the result.

Tools print bytes in many forms, and inputs rarely state their form. `read_input` tries the readers of all forms in a
fixed order, strict forms first. A form must fit the whole text, so that a broken hex dump is reported and not read as
another form. Readers are imported when their form is tried, to keep the start of kwire fast.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.message.frames import Hints, read
from kwire_cli.message.reading import read_all, unrecognised
from kwire_cli.source.kinds import Kind
from kwire_cli.source.text.model import (
    NO_FRAME,
    WHOLE_TEXT,
    Chunk,
    Input,
    MismatchError,
    first_visible,
    has_controls,
    without_fence,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.frames import Frame
    from kwire_cli.source.text.model import Reader
    from kwire_cli.spec.catalog import Catalog


CAPTURE = Kind.CAPTURE.what


# First bytes of binary files, and the descriptions of the files.
MAGICS = (
    (b"\xa1\xb2\xc3\xd4", f"{CAPTURE} (pcap)"),
    (b"\xd4\xc3\xb2\xa1", f"{CAPTURE} (pcap)"),
    (b"\xa1\xb2\x3c\x4d", f"{CAPTURE} (pcap)"),
    (b"\x4d\x3c\xb2\xa1", f"{CAPTURE} (pcap)"),
    (b"\x0a\x0d\x0d\x0a", f"{CAPTURE} (pcapng)"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
)


def recognised_binary(data: bytes) -> str | None:
    """Return the description of a binary file from its first bytes, such as "a packet capture (pcap)".

    Return None if the format is unknown.
    """
    for magic, description in MAGICS:
        if data.startswith(magic):
            return description
    return None


def as_text(data: bytes) -> str | None:
    """Return bytes as text: UTF-8, or UTF-16 with a byte order mark. Return None if they are not text."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = data.decode("utf-16")
            # Random bytes are often valid UTF-16, but rarely ASCII, which all forms consist of.
            return text if text.isascii() and not has_controls(text.encode()) else None
        return None if has_controls(data) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def begins_as_text(start: bytes) -> bool:
    """Return whether a file with these first bytes may be text, in UTF-8 or UTF-16 (which contains zeros)."""
    return not has_controls(start.replace(b"\0", b"") if start[:2] in (b"\xff\xfe", b"\xfe\xff") else start)


ROW_FORMS = ("tcpdump", "xxd", "hexdump", "od", "wireshark")
OTHER_FORMS = ("hex", "literal", "base64", "log")
"""The order in which `auto` tries forms. Rows with offsets precede plain hex, which would read offsets as bytes. Base64
comes late, because most words are valid base64. Lines of a log are searched if no form fits the whole text."""


def reader(form: str) -> Reader:
    """Return the function that reads a form."""
    if form in ROW_FORMS:
        from kwire_cli.source.text.rows import READERS as ROWS  # noqa: PLC0415 - imported when used

        return ROWS[form]
    if form == "literal":
        from kwire_cli.source.text.literals import read_literals  # noqa: PLC0415 - imported when used

        return read_literals
    if form == "log":
        from kwire_cli.source.text.log_lines import read_log_lines  # noqa: PLC0415 - imported when used

        return read_log_lines
    from kwire_cli.source.text.digits import READERS  # noqa: PLC0415 - imported when used

    return READERS[form]


FORMS: tuple[str, ...] = ("auto", "hex", "hex-lines", *ROW_FORMS, "literal", "base64", "log", "raw")


TEXT_LIMIT = 256 << 20
"""Maximum size of text. A form is recognised from the whole text, which takes several times its size in memory."""
SEEN = 1 << 16
"""First bytes that decide whether an input may be text."""

# Web pages replace spaces by no-break spaces, insert break opportunities, and curve quotes.
_SPACES = {0xA0: " ", 0x2007: " ", 0x202F: " ", 0x200B: "", 0x2060: "", 0xFEFF: "", 0x201C: '"', 0x201D: '"'}


_EXPORT = re.compile(r"""<(?:pdml|psml)\s|"_source":\s*\{\s*"layers":\s*\{|^\{"index":\{"_index":"packets-""")


def check_size(start: bytes, size: int, form: str, *, file: str | None) -> None:
    """Raise InputError for text beyond TEXT_LIMIT. `start` are the first bytes of the input, and `size` is its size."""
    if size > TEXT_LIMIT and form != "raw" and (form != "auto" or begins_as_text(start)):
        raise InputError(
            f"this text is larger than {TEXT_LIMIT >> 20} MiB: give a part of it (head -c, split), or its bytes "
            "(xxd -r -p FILE | kwire decode -); captures and raw bytes may be larger",
            file=file,
        )


def read_input(data: bytes, form: str = "auto", *, file: str | None = None) -> Input:
    """Return the bytes that `data` contains in `form`.

    Args:
        data: The content of a file, or an argument of a command.
        form: One of FORMS. With auto, `data` decides.
        file: The name of the input in errors.

    Raises:
        InputError: The input is empty, is text beyond the limit, or does not fit the form. Line and column are the
            place
            of the first character that does not fit.

    """
    if form not in FORMS:
        raise InputError(f"there is no input form {form!r}; there are {', '.join(FORMS)}", file=file)
    if not data:
        raise InputError("the input is empty", file=file)
    check_size(data[:SEEN], len(data), form, file=file)
    if form == "raw":
        return _raw(data, "as asked")
    if form == "auto":
        description = recognised_binary(data)
        if description is not None:
            raise InputError(f"this is {description}, which is not text; `--input raw` takes its bytes", file=file)
        text = as_text(data)
        if text is None:
            return _raw(data, "it holds control characters or is not UTF-8, so it is not text")
        if _EXPORT.search(text, 0, SEEN):
            raise InputError(
                "this export of tshark cannot be read: use `tshark -r CAPTURE -w packets.pcap`",
                file=file,
            )
    else:
        text = as_text(data) or _decoded(data, form, file)
    text = without_fence(text.replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES))
    try:
        return _guess(text) if form == "auto" else _read(text, form)
    except MismatchError as error:
        if error.offset == WHOLE_TEXT:
            raise InputError(error.reason, file=file) from None
        line, column = _position(text, error.offset)
        raise InputError(error.reason, file=file, line=line, column=column) from None


def _raw(data: bytes, why: str) -> Input:
    return Input((Chunk(data, 0, None),), f"raw: {len(data)} bytes; {why}", form="raw")


def _decoded(data: bytes, form: str, file: str | None) -> str:
    """Return the text of bytes in a requested form, although they contain characters that text rarely does."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(
            data[: error.start].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"), None
        )
        raise InputError(f"not UTF-8, so not {form}; try --input raw", file=file, line=line, column=column) from None


def _position(text: str, offset: int | None) -> tuple[int, int]:
    """Return line and column, from 1, of an offset, or of the end of the text if it is None."""
    before = text[:offset]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _read(text: str, form: str) -> Input:
    """Return the text read in one form. Raise MismatchError if it is in another form, or contains no bytes."""
    found = reader(form)(text)
    size = sum(len(chunk.data) for chunk in found.chunks)
    if not size:
        raise MismatchError(0, f"no bytes in this {form} input")
    chunks = f" in {len(found.chunks)} chunks" if len(found.chunks) > 1 else ""
    return found._replace(detail=f"{form}: {size} bytes{chunks}; {found.detail}", form=form)


_HEX = re.compile("[0-9a-fA-F]+")
_DECIMALS = re.compile(r"(?=[^#/]*?(?<!\S)(?:-?\d(?:,|\s+=|\s+-?\d)|-?\d{3}(?!\d)))(?![^#/]*?(?<!\d)0\d)")
"""Matches numbers that are not hex digits: one of them has a single digit or three, and none begins with a zero."""


_VAGUE = ("expected an offset", "expected a list, a string")
"""Starts of reasons that are true for most texts, and so do not help."""


def _guess(text: str) -> Input:
    """Return the text read in the first form that fits the whole text.

    Raises:
        MismatchError: No form fits. The error comes from the form that fits furthest, if it is specific.

    """
    failures: list[tuple[str, MismatchError]] = []
    digits = text.strip()
    # An offset has at most 16 digits, so a longer number is not a row, and the module of rows is not imported.
    plain = len(digits) > 16 and len(digits) % 2 == 0 and _HEX.fullmatch(digits)
    for form in OTHER_FORMS if plain else (*ROW_FORMS, *OTHER_FORMS):
        if form == OTHER_FORMS[0] and any(error.sure for _, error in failures):
            # Rows with offsets, but one is broken. Plain hex would read the offsets as bytes.
            failures = [failure for failure in failures if failure[1].sure]
            break
        try:
            if form == "base64":
                _refuse_words(text)
            if form == "literal":
                _refuse_digits(text)
            guess = _read(text, form)
        except MismatchError as error:
            failures.append((form, error))
        else:
            if form == "hexdump":
                _refuse_other_radix(text, guess)
            if form == "literal" and guess.notes and "<Buffer" in text:
                with suppress(MismatchError):
                    return _read(text, "log")
            return guess
    form, best = max(failures, key=lambda failure: failure[1].offset)
    if best.sure:
        raise MismatchError(best.offset, f"this is {form}: {best.reason}")
    if failures[-1][1].reason != NO_FRAME:
        raise failures[-1][1]
    json = "; kwire encode makes bytes of JSON" if digits[:1] == "{" and '"apiKey"' in text else ""
    known = f"give hex, base64, a hex dump, a literal of a programming language or a capture{json}"
    specific = [
        (form, error)
        for form, error in failures[:-1]
        if form != "base64" and not error.reason.startswith(_VAGUE) and (form != "hex" or _is_mostly_hex(text))
    ]
    if specific:
        form, best = max(specific, key=lambda failure: failure[1].offset)
        raise MismatchError(best.offset, f"this is not {form}: {best.reason}; {known}")
    raise MismatchError(WHOLE_TEXT, f"no bytes were recognised in this text; {known}")


def _is_mostly_hex(text: str) -> bool:
    visible = "".join(text[:SEEN].split())
    return 10 * sum(character in "0123456789abcdefABCDEF" for character in visible) > 7 * len(visible)


def _refuse_other_radix(text: str, guess: Input) -> None:
    """Raise MismatchError if hexdump and od (with octal offsets) both fit, but repeat a different number of
    rows at `*`.
    """
    star = text.find("*")
    if star < 0:
        return
    try:
        other = _read(text, "od")
    except MismatchError:
        return
    if [chunk.data for chunk in other.chunks] != [chunk.data for chunk in guess.chunks]:
        raise MismatchError(
            star,
            "these offsets are hex as well as octal, and `*` stands for another number of bytes in each; say "
            "--input hexdump or od",
        )


def _refuse_digits(text: str) -> None:
    """Raise MismatchError for numbers without brackets that can be hex."""
    if text.lstrip()[:1].isdigit() and not _DECIMALS.match(text.lstrip()):
        raise MismatchError(first_visible(text), "expected a list, a string or decimals that cannot be hex")


def _refuse_words(text: str) -> None:
    """Raise MismatchError for text that fits base64 by chance: a lower-case word, or hex digits with a typing error."""
    # Comments contain no digits. Spaces in their place keep all offsets.
    text = re.sub(r"(?m)^[ \t]*(?:# |// ).*$", lambda comment: " " * len(comment[0]), text)
    digits = text.strip()
    if digits.isalpha() and digits.islower():
        raise MismatchError(
            len(text) - len(text.lstrip()), "a word in lower case is hardly base64; --input base64 reads it so"
        )
    strange = [
        index
        for index, character in enumerate(text)
        if character not in "0123456789abcdefABCDEF" and not character.isspace()
    ]
    if len(strange) <= 2 and len(digits) >= 16 and "=" not in digits:
        raise MismatchError(
            strange[0] if strange else len(text.rstrip()) - 1,
            "expected a hex digit, as nearly all of this are; --input base64 reads it as that",
        )


def frames_in(catalog: Catalog, source: Input, hints: Hints, *, framed: bool | None = None) -> Iterator[Frame]:
    """Yield the frames of an input, numbered from 1 over all of its chunks.

    A response in a log is decoded by its request, if the request precedes it. After a raw SASL token, guesses are
    rejected until a frame is identified with certainty, because tokens follow each other.
    """
    number = 1
    logged = source.form == "log"
    after_token = False
    requests: dict[int, Frame] = {}
    for chunk in source.chunks:
        answers = chunk.answers
        data = answers.frame(chunk.data) if answers else chunk.data
        known = Hints(catalog.api_by_key(answers.api_key), answers.version, "response") if answers else hints
        for original in read_all(catalog, data, hints if hints != Hints() else known, first=number, framed=framed):
            frame = _answering(catalog, original, requests) if logged else original
            if not frame.sure:
                from kwire_cli.message.secrets import holds_token  # noqa: PLC0415 - most frames are certain

                if after_token and frame.guess:
                    frame = unrecognised(frame)
                after_token = after_token or holds_token(original)
            else:
                after_token = False
            yield replace(frame, label=chunk.label, logged=logged)
            number += 1


def _answering(catalog: Catalog, frame: Frame, requests: dict[int, Frame]) -> Frame:
    """Return a frame whose api is a guess as the response to the last request with its correlation id, if that fits to
    the last byte. Return any other frame unchanged.
    """
    correlation_id = frame.header.value.get("correlationId") if frame.header else None
    if correlation_id is None:
        return frame
    if frame.sure and frame.kind == "request":
        requests[correlation_id] = frame
        return frame
    request = requests.get(correlation_id) if frame.guess else None
    api = catalog.api_by_key(request.api_key) if request and request.api_key is not None else None
    if request is None or api is None:
        return frame
    hints = Hints(api, request.api_version, "response")
    answer = read(
        catalog, frame.data, hints, number=frame.number, start=frame.start, stop=frame.stop, prefixed=frame.prefixed
    )
    return answer if answer.sure else frame
