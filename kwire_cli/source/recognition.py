"""Recognition of the kind of an input. All commands and the library use it, so that they agree on every file.

The kinds are captures, request logs, record batches, files of a log directory, definitions, frames, JSON and folders.
The first bytes identify captures and logs, the name identifies files of a log directory. Record batches and frames can
read as each other, so `why_batches` compares the evidence: a checksum, size prefixes, request headers. All other inputs
are read as text with encoded bytes.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, few
from kwire_cli.message.encode import decode_header, request_head
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, Hints, says_size
from kwire_cli.message.reading import read_all, split
from kwire_cli.records.formats import BY_MAGIC, RECORD_FORMATS
from kwire_cli.source.files import GZIP, OPENING, ZSTD, first_of, unpacked_start
from kwire_cli.source.kinds import Kind
from kwire_cli.source.text.model import Chunk, Input
from kwire_cli.source.text.reading import (
    CAPTURE,
    ROW_FORMS,
    SEEN,
    begins_as_text,
    check_size,
    read_input,
    recognised_binary,
)
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.stores.paths import path_of, refuse_bytes
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import v0

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.stores.paths import Place


MAGIC = 16
"""First bytes that identify a binary capture."""
SHORT_ID = 2
"""Maximum length of a client id that random bytes can plausibly contain."""
AS_SAID = "as said"
LOOK = 4 << 10
LOOK_AHEAD = 1 << 10
"""First bytes that distinguish text from binary data, and first bytes of a pipe to examine."""
_MAGIC_AT = offset_of(v0.MESSAGE, "magic")
LEAST_BATCH = _MAGIC_AT + 1
"""Bytes that identify the header of a batch: up to the magic byte."""
WHOLE_HEADER = 61
"""Size of a complete batch header of the newest format."""
_NEWEST_MAGIC = max(RECORD_FORMATS[name].magic for name in BY_MAGIC)
EVIDENCE = 3.7
LONGEST_BY_CHANCE = 40
"""A response that fits to the last byte is accepted if it beats random bytes by EVIDENCE bits per byte, or has more
than LONGEST_BY_CHANCE bytes. Shorter bytes can fit by chance."""


_PRINTED = frozenset({*ROW_FORMS, "log"})
"""Forms of text that may hold printed packets."""


class Recognised(NamedTuple):
    """The kind of an input, with the source of its bytes.

    Attributes:
        why: The reason for the kind.
        name: The name of the file, `standard input`, or None for an argument that is the bytes itself.
        path: The file of a capture, log, or file with a name of Kafka's.
        stream: The pipe of a capture or log.
        held: Record batches from a pipe.
        text: All other inputs: the bytes, and the form in which they were encoded.

    """

    kind: Kind
    why: str
    name: str | None = None
    path: Place | None = None
    stream: Any = None
    held: memoryview | None = None
    text: Input | None = None

    @property
    def label(self) -> str:
        """The name of the input in output."""
        return self.name or "argument"

    @property
    def detail(self) -> str:
        """The reason for the kind, and the form of encoded bytes."""
        if self.text is None:
            return self.why
        if self.kind is Kind.BATCHES:
            return f"{self.text.detail}; {self.why}"
        return self.text.detail

    @property
    def source(self) -> Any:
        """The path of the file as a string, or the open pipe, for readers of captures and logs."""
        return str(self.path) if self.path is not None else self.stream

    @property
    def frames(self) -> Input:
        """The bytes for readers of frames and bodies. Raise InputError if the input is of another kind."""
        if self.text is None or self.kind not in {Kind.FRAMES, Kind.BODY}:
            raise InputError(f"this is {self.kind.what}; {self.kind.try_instead}", file=self.name)
        return self.text

    @property
    def views(self) -> tuple[memoryview, ...]:
        """All bytes. An input with encoded bytes can have several pieces."""
        if self.held is not None:
            return (self.held,)
        if self.text is not None:
            return tuple(memoryview(chunk.data) for chunk in self.text.chunks)
        return (memoryview(self.path.read_bytes() if self.path is not None else self.stream.read()),)


def recognise(
    given: Any, *, form: str = "auto", says: Kind | None = None, name: str | None = None, catalog: Catalog | None = None
) -> Recognised:
    """Return the kind of an input.

    Args:
        given: The path or URL of a file, an open file or pipe, or the bytes of the input. These can be text in any
            form.
        form: The form of the input, one of `kwire_cli.source.text.reading.FORMS`. Any form except `auto` rules out
            captures, logs and files with names of Kafka's.
        says: The kind, if the caller knows it. CAPTURE is not checked. FRAMES and BODY accept everything except
            captures. BATCHES accepts everything except text, captures, request logs and files that are named as other
            files of a log directory; text can contain batches in any form.
        name: The name of the input if it differs from the path.
        catalog: The definitions that distinguish requests from batches.

    Raises:
        InputError: The input cannot be read, or is text without encoded bytes.

    """
    if isinstance(given, bytes | bytearray | memoryview):
        return _recognise_bytes(given, form, None if says is Kind.CAPTURE else says, name, catalog)
    if hasattr(given, "read"):
        return _recognise_stream(given, form, says, name or _name_of(given), catalog)
    try:
        refuse_bytes(given)
        return _recognise_path(path_of(given), form, says, name or str(given), catalog)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", file=name or str(given)
        ) from None


def begins_as(source: Any) -> Kind | None:
    """Return CAPTURE or REQUEST_LOG if a file or pipe begins as one, else None. The bytes can be read again."""
    is_pipe = hasattr(source, "peek")  # a live capture must not wait
    opening = b"" if is_pipe else first_of(source, OPENING)

    def first(size: int) -> bytes:
        return first_of(source, size) if is_pipe else opening[:size]

    start = first(MAGIC)
    binary_form = recognised_binary(start)
    packed = start.startswith((GZIP, ZSTD))
    if binary_form is not None and not packed:
        return Kind.CAPTURE
    # Lines of logs begin with more than digits.
    if not start or not (packed or begins_as_text(start)) or start.isalnum():
        return None
    from kwire_cli.source.request_log.lines import is_request_log  # noqa: PLC0415 - start-up counts

    size = LOOK_AHEAD if packed and is_pipe else OPENING
    while size < OPENING and len(some := first(size)) == size and unpacked_start(some) is None:
        size <<= 1  # compressed data can need more bytes before anything can be decompressed
    if start[:1] != b"\n" and is_request_log(first(size)):
        return Kind.REQUEST_LOG
    return Kind.CAPTURE if packed else None


_MAX_EXAMINED = 16 << 20
"""Bytes of a file that are read to recognise batches."""


def why_batches(data: Any, catalog: Catalog | None = None) -> str:
    """Return why bytes are record batches. Return an empty string if they are not, or are more likely frames."""
    if len(data) < LEAST_BATCH or data[_MAGIC_AT] > _NEWEST_MAGIC:
        return ""
    from kwire_cli.records.reading import beginning  # noqa: PLC0415 - start-up counts

    opening = beginning(data)
    if opening is None or opening.valid:  # frames never have a valid checksum by chance
        return opening.why if opening else ""
    # Size prefixes that divide the bytes exactly are stronger evidence than a batch, unless a complete header of the
    # newest format follows, which no frame resembles.
    if ((data[_MAGIC_AT] < _NEWEST_MAGIC or len(data) < WHOLE_HEADER) and split(data)[-1][2]) or _is_request(
        data, catalog
    ):
        return ""
    if not opening.sure and (
        _may_be_frame(data, catalog) or any(_is_sized_request(data, at, catalog) for at in range(1, LEAST_BATCH))
    ):
        return ""
    return opening.why


def _is_request(data: Any, catalog: Catalog | None) -> bool:
    """Return whether the bytes begin with a request of a known api and version, with or without a size prefix.

    Its client id must be text.
    """
    return _is_sized_request(data, 0, catalog) or _heads_request(data, 0, catalog)


def _is_sized_request(data: Any, at: int, catalog: Catalog | None) -> bool:
    """Return whether a size prefix and a request of a known api and version are at `at`.

    The bytes before `at` are then stray bytes.
    """
    size = says_size(data, at, len(data)) or 0
    return 0 < size <= MAX_SIZE and _heads_request(data, at + SIZE_BYTES, catalog, sized=not at)


def _heads_request(data: Any, at: int, catalog: Catalog | None, *, sized: bool = False) -> bool:
    """Return whether the header of a request of a known api and version is at `at`.

    The client id must be text. Api key 0 without a size prefix needs more evidence: a printable client id of more than
    SHORT_ID characters.
    """
    definitions = _catalog(catalog)
    head = request_head(data, at, len(data))
    api = definitions.api_by_key(head.api_key) if head else None
    if not head or not api or not api.request or head.version not in definitions.entry(api.request).valid_versions:
        return False
    layout = definitions.header_version("request", head.api_key, head.version)
    header = decode_header(definitions, "request", layout, data, start=at, stop=len(data))
    client_id = header.value.get("clientId") or ""
    # The offset of most batches also begins with zeros, like api key 0.
    believed = sized or head.api_key or (len(client_id) > SHORT_ID and client_id.isprintable())
    return bool(header.complete and not header.anomalies and believed)


def _may_be_frame(data: Any, catalog: Catalog | None) -> bool:
    """Return whether frames explain the bytes as well as a truncated message of format v0 does.

    The message is too short for a comparison of its lengths.
    """
    if 0 < (says_size(data, 0, len(data)) or 0) <= MAX_SIZE:
        return True
    frame = read_all(_catalog(catalog), bytes(data), Hints(), framed=False)[0]
    return frame.sure or (frame.guess and (len(data) > LONGEST_BY_CHANCE or frame.evidence > EVIDENCE * len(data)))


def _catalog(catalog: Catalog | None) -> Catalog:
    return catalog or bundled()


def is_lake(folder: Place) -> bool:
    """Return whether a folder is a lake, as `kwire export` writes it."""
    return (folder / "inputs" / "_delta_log").is_dir()


def _recognise_path(path: Place, form: str, says: Kind | None, name: str, catalog: Catalog | None) -> Recognised:
    if path.is_dir():
        if is_lake(path):
            return Recognised(Kind.LAKE, "it has a Delta table of inputs", name, path)
        return Recognised(Kind.FOLDER, "it is a folder", name, path)
    if says is Kind.CAPTURE:
        return Recognised(Kind.CAPTURE, AS_SAID, name, path)
    if form == "auto" and path.is_file():
        messages = says in {Kind.FRAMES, Kind.BODY}
        if not messages and recognised_binary(first_of(path, MAGIC)) is None and (recognised := _by_name(path, name)):
            return recognised
        if kind := begins_as(path):
            return Recognised(kind, f"it begins as {kind.what}", name, path)
        if messages:
            return _recognise_bytes(_content(path, form, name), form, says, name, catalog, path)
        if says is Kind.BATCHES and not begins_as_text(first_of(path, LOOK)):
            return Recognised(Kind.BATCHES, AS_SAID, name, path)
        from kwire_cli.stores.opening import FileBytes  # noqa: PLC0415 - start-up counts

        if why := why_batches(FileBytes(path).read(0, _MAX_EXAMINED), catalog):
            return Recognised(Kind.BATCHES, why, name, path)
    return _recognise_bytes(_content(path, form, name), form, says, name, catalog, path)


def _content(path: Place, form: str, name: str) -> bytes:
    with path.open("rb") as file:
        start = file.read(SEEN)
        check_size(start, path.stat().st_size, form, file=name)
        return start + file.read()


def _by_name(path: Place, name: str, *, loosely: bool = False) -> Recognised | None:
    """Recognise a file of a log directory by a name that only Kafka uses, or that has an offset. If `loosely` is set,
    the suffix is sufficient.
    """
    from kwire_cli.source.logs.model import BATCH_KINDS, SEGMENT_KINDS, Kind as LogKind, file_name  # noqa: PLC0415 - start-up counts

    parsed = file_name(path.name)
    if parsed.kind is LogKind.OTHER:
        return None
    if parsed.kind in SEGMENT_KINDS and parsed.base_offset is None and not loosely:
        return None
    kind = Kind.BATCHES if parsed.kind in BATCH_KINDS else Kind.LOG_FILE
    return Recognised(kind, f"it is named as a file of kind {parsed.kind}", name, path)


def _recognise_stream(
    stream: Any, form: str, says: Kind | None, name: str | None, catalog: Catalog | None
) -> Recognised:
    if says is Kind.CAPTURE:
        return Recognised(Kind.CAPTURE, AS_SAID, name, stream=stream)
    if form == "auto" and (kind := begins_as(stream)):
        return Recognised(kind, f"it begins as {kind.what}", name, stream=stream)
    content = stream.read()
    return _recognise_bytes(content.encode() if isinstance(content, str) else content, form, says, name, catalog)


def _recognise_bytes(
    data: Any, form: str, says: Kind | None, name: str | None, catalog: Catalog | None, path: Place | None = None
) -> Recognised:
    check_size(bytes(data[:SEEN]), len(data), form, file=name)
    if says is Kind.BODY and not (data if form == "raw" else bytes(data).strip()):
        return Recognised(Kind.BODY, AS_SAID, name, path, text=Input((Chunk(b"", 0, None),), "no bytes", form="raw"))
    if form == "auto" and path is None and begins_as(io.BytesIO(data)) is Kind.CAPTURE:
        return Recognised(Kind.CAPTURE, f"it begins as {Kind.CAPTURE.what}", name, stream=io.BytesIO(data))
    if form == "auto" and says in {None, Kind.BATCHES}:
        if says and (len(data) < LEAST_BATCH or not begins_as_text(bytes(data[:LOOK]))):
            why = AS_SAID
        else:
            why = why_batches(data, catalog)
        if why:
            return Recognised(Kind.BATCHES, why, name, held=memoryview(data))
    try:
        text = read_input(bytes(data), form, file=name)
    except InputError:
        kind = _kind_of_json(bytes(data)) if form == "auto" and says in {None, Kind.BATCHES} else None
        if kind is None:
            raise
        return Recognised(kind, f"it begins as {kind.what}", name, held=memoryview(data))
    if form == "auto":
        _refuse_packets(text, name)
    return _recognise_text(text, says, name, catalog, path)


def _recognise_text(
    text: Input, says: Kind | None, name: str | None, catalog: Catalog | None, path: Place | None
) -> Recognised:
    """Return the kind of bytes that were encoded in text."""
    first = text.chunks[0].data
    if says is not Kind.BODY and text.form != "raw" and (recognised_binary(first[:MAGIC]) or "").startswith(CAPTURE):
        why = f"the bytes that are written in it begin as {Kind.CAPTURE.what}"
        return Recognised(Kind.CAPTURE, why, name, stream=io.BytesIO(b"".join(chunk.data for chunk in text.chunks)))
    if says is not None:
        return Recognised(says, AS_SAID, name, text=text)
    reasons = [why_batches(chunk.data, catalog) for chunk in text.chunks]
    if all(reasons):
        return Recognised(Kind.BATCHES, reasons[0], name, text=text)
    if any(reasons):
        lines = [str(chunk.line) for chunk, why in zip(text.chunks, reasons, strict=True) if why]
        frames = tuple(chunk for chunk, why in zip(text.chunks, reasons, strict=True) if not why)
        note = f"record batches among requests and responses are left out; give them alone: line {few(lines, 5)}"
        text = text._replace(chunks=frames, notes=(*text.notes, note))
    if (
        path is not None
        and text.form == "raw"
        and not split(text.chunks[0].data)[-1][2]
        and (recognised := _by_name(path, name or "", loosely=True))
    ):
        return recognised
    return Recognised(Kind.FRAMES, "nothing else fits", name, text=text)


def _refuse_packets(text: Input, name: str | None) -> None:
    """Raise InputError for rows of packets, as tcpdump and tshark print them: a message is only a part of them."""
    if text.form not in _PRINTED:
        return
    from kwire_cli.source.packets.headers import is_ip_packet  # noqa: PLC0415 - start-up counts

    if any(is_ip_packet(chunk.data) for chunk in text.chunks):
        raise InputError(
            "these are packets with their IP headers, printed as text; give the capture that they were printed from, "
            "or make one with text2pcap; --input tcpdump or wireshark reads the bytes as they are",
            file=name,
        )


def _kind_of_json(data: bytes) -> Kind | None:
    """Return the kind of text without encoded bytes: a message definition, which can have comments, or JSON objects.

    Return None for other text.
    """
    if b'"layers"' in data[:OPENING]:
        return None  # an export of tshark
    if data.lstrip()[:1] in {b"{", b"/"} and b'"validVersions"' in data and b'"fields"' in data:
        return Kind.DEFINITION
    return Kind.JSON if data.lstrip(b" \t\r\n[")[:1] == b"{" else None


def _name_of(stream: Any) -> str | None:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else None
