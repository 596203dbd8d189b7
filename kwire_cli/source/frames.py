"""Frames from files, standard input and arguments: a source's bytes in whatever form they come, split and decoded."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.message.reading import read_all
from kwire_cli.source.binary import recognised_binary
from kwire_cli.source.packing import GZIP, ZSTD
from kwire_cli.source.text import Input, read_input
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.frames import Frame, Hints
    from kwire_cli.spec.catalog import Catalog

MAGIC = 16
"""Bytes that tell what a file is."""


def read_source(source: Any, form: str = "auto", *, file: str | None = None) -> Input:
    """What a source holds: a path, an open file, or bytes. InputError where it can't be read or is not what `form` says."""
    if isinstance(source, bytes | bytearray | memoryview):
        return read_input(bytes(source), form, file=file)
    if hasattr(source, "read"):
        content = source.read()
        return read_input(content.encode() if isinstance(content, str) else content, form, file=file or getattr(source, "name", None))
    try:
        return read_input(path_of(source).read_bytes(), form, file=file or str(source))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file or str(source)) from None


def capture_in(source: Any) -> Any:
    """What to read as a packet capture: the source, or bytes as a file, if its first bytes are those of one; else None."""
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source) if recognised_binary(bytes(source[:MAGIC])) else None
    return source if recognised_binary(_first(source, MAGIC)) else None


def request_log_in(source: Any) -> Any:
    """The source, if its first bytes are those of a broker's request log, packed or not; else None."""
    start = _first(source, MAGIC)
    if not start or start[:1] == b"\n" or (recognised_binary(start) and not start.startswith((GZIP, ZSTD))):
        return None
    from kwire_cli.source.request_log.opening import OPENING, is_request_log  # noqa: PLC0415 - start-up counts

    return source if is_request_log(_first(source, OPENING)) else None


def _first(source: Any, size: int) -> bytes:
    """The first bytes of a path's file or of an open file, which are read again later; none where that can't be: reading it says what is wrong."""
    if hasattr(source, "read"):
        return _ahead(source, size)
    try:
        path = path_of(source)
        if not path.is_file():  # a pipe can't be looked into and then read again
            return b""
        with path.open("rb") as file:
            return file.read(size)
    except (OSError, ValueError, TypeError):
        return b""


def _ahead(file: Any, size: int) -> bytes:
    """The next bytes of an open file, which are read again later; none where that can't be."""
    if hasattr(file, "peek"):
        return bytes(file.peek(size))[:size]
    if not (hasattr(file, "seekable") and file.seekable()):
        return b""
    position = file.tell()
    start = file.read(size)
    file.seek(position)
    return start if isinstance(start, bytes) else b""


def frames_in(catalog: Catalog, source: Input, hints: Hints, *, framed: bool | None = None) -> Iterator[Frame]:
    """The frames of a source, numbered from 1 over all of its chunks."""
    number = 1
    for chunk in source.chunks:
        for frame in read_all(catalog, chunk.data, hints, first=number, framed=framed):
            yield replace(frame, label=chunk.label, logged=source.form == "log")
            number += 1
