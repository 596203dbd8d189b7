"""The captures that paths, folders and globs name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.files import is_capture
from kwire_cli.source.logs.names import file_name
from kwire_cli.source.naming import named
from kwire_cli.source.packing import unpacked_start
from kwire_cli.stores import in_parallel, path_of
from kwire_cli.stores.folders import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.stores import Place

_LOOKED_AT = 1 << 17
"""Bytes that tell a capture, packed ones too."""
NAME = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst))?$", re.IGNORECASE)
"""Names of captures: such files are taken for captures whatever is in them, and broken links too."""


def captures_of(paths: Iterable[str]) -> list[str]:
    """The files that paths and globs name, each once, in the order of their names; of a folder, and of those in it, the captures.

    In a folder a capture is what begins as one, or is named as one although it does not.

    Raises:
        InputError: There is nothing of that name, or no capture in a folder.

    """
    found: dict[str, None] = {}
    for path in paths:
        some = [each for name in named(path) for each in (_in_folder(path_of(name)) if path_of(name).is_dir() else [name])]
        if not some:
            raise InputError("there is no capture in this folder", file=path)
        found.update(dict.fromkeys(some))
    return list(found)


def _in_folder(folder: Place) -> list[str]:
    paths = tree(folder).files()
    return [str(path) for path, is_one in zip(paths, in_parallel(_is_capture, paths), strict=True) if is_one]


def _is_capture(path: Place) -> bool:
    if path.is_dir():
        return False
    if NAME.search(path.name):
        return True
    if not path.is_file() or file_name(path.name).base_offset is not None:  # a name that only files of partitions have
        return False
    try:
        with path.open("rb") as file:
            first = file.read(_LOOKED_AT)
            return bool(first) and (is_capture(first) or _is_printed(first))
    except (InputError, OSError):
        return False


def _is_printed(first: bytes) -> bool:
    """Whether a file that begins so, packed or not, holds packets that were printed as text."""
    from kwire_cli.source.capture.text_packets import OPENING, is_packet_text  # noqa: PLC0415 - start-up counts

    start = unpacked_start(first, OPENING) or b""
    return bool(is_packet_text(start, whole=len(first) < _LOOKED_AT and len(start) < OPENING))
