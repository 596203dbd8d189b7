"""The frames in the bytes of an input, split and decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read, read_all, unrecognised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.frames import Frame
    from kwire_cli.source.text import Input
    from kwire_cli.spec.catalog import Catalog


def frames_in(catalog: Catalog, source: Input, hints: Hints, *, framed: bool | None = None) -> Iterator[Frame]:
    """The frames of a source, numbered from 1 over all of its chunks. A response in a log is read as its request says, if that came before.

    Behind a raw SASL token no guess is believed until a frame is understood: tokens follow one another.
    """
    number, logged, after_token = 1, source.form == "log", False
    asked: dict[int, Frame] = {}
    for chunk in source.chunks:
        for found in read_all(catalog, chunk.data, hints, first=number, framed=framed):
            frame = _answering(catalog, found, asked) if logged else found
            if not frame.sure:
                from kwire_cli.message.secrets import holds_token  # noqa: PLC0415 - most frames are understood

                frame = unrecognised(frame) if after_token and frame.guess else frame
                after_token = after_token or holds_token(found)
            else:
                after_token = False
            yield replace(frame, label=chunk.label, logged=logged)
            number += 1


def _answering(catalog: Catalog, frame: Frame, asked: dict[int, Frame]) -> Frame:
    """The frame, or, where its api is a guess, the response to the last request with its correlation id, if that fits to the last byte."""
    correlation_id = frame.header.value.get("correlationId") if frame.header else None
    if correlation_id is None:
        return frame
    if frame.sure and frame.kind == "request":
        asked[correlation_id] = frame
        return frame
    request = asked.get(correlation_id) if frame.guess else None
    api = catalog.api_by_key(request.api_key) if request and request.api_key is not None else None
    if request is None or api is None:
        return frame
    hints = Hints(api, request.api_version, "response")
    known = read(catalog, frame.data, hints, number=frame.number, start=frame.start, stop=frame.stop, prefixed=frame.prefixed)
    return known if known.sure else frame
