"""Which inputs are segments, and which captures, where a table is of both."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.named import captures_of
from kwire_cli.source.frames import capture_in
from kwire_cli.source.logs.names import BATCH_KINDS, file_name
from kwire_cli.source.logs.segments import segments_of
from kwire_cli.source.naming import named

if TYPE_CHECKING:
    from collections.abc import Iterable


def by_kind(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The segments and the captures that paths and globs name. A file that is named itself is a segment unless it is a capture.

    Raises:
        InputError: There is nothing of a name, or neither in it.

    """
    segments: list[str] = []
    captures: list[str] = []
    for path in paths:
        before = len(segments) + len(captures)
        for name in named(path):
            if Path(name).is_dir():
                with contextlib.suppress(InputError):  # there are none
                    segments += [each.path for each in segments_of([name])]
                with contextlib.suppress(InputError):
                    captures += captures_of([name])
            elif _is_capture(name):
                captures.append(name)
            elif name == path or file_name(Path(name).name).kind in BATCH_KINDS:
                segments.append(name)
        if len(segments) + len(captures) == before:
            raise InputError("there is neither a segment nor a capture in this", file=path)
    return segments, captures


def _is_capture(path: str) -> bool:
    try:
        return capture_in(path) is not None
    except (InputError, OSError):
        return False
