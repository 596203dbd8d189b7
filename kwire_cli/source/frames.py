"""The frames in the bytes of an input, split and decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.message.reading import read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.frames import Frame, Hints
    from kwire_cli.source.text import Input
    from kwire_cli.spec.catalog import Catalog


def frames_in(catalog: Catalog, source: Input, hints: Hints, *, framed: bool | None = None) -> Iterator[Frame]:
    """The frames of a source, numbered from 1 over all of its chunks."""
    number = 1
    for chunk in source.chunks:
        for frame in read_all(catalog, chunk.data, hints, first=number, framed=framed):
            yield replace(frame, label=chunk.label, logged=source.form == "log")
            number += 1
