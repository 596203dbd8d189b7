"""Two requests, or two responses, of one api: size prefix, header and body compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.message.comparison.differences import At, Comparison, Difference, Side
from kwire_cli.message.comparison.operands import Operand
from kwire_cli.message.comparison.payloads import look_inside
from kwire_cli.message.comparison.walk import compare
from kwire_cli.message.inside import CARRIED, Forwarded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.message.comparison.payloads import Hide
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.record_fields import RecordsAs

    Hidden = Mapping[str, frozenset[int]]


def compare_frames(
    a: Frame,
    b: Frame,
    hidden: tuple[Hidden, Hidden],
    reading: tuple[RecordsAs, RecordsAs],
    hide: Hide,
    at: At = At(),  # noqa: B008 - a tuple of texts
) -> Comparison:
    """What differs between two frames, below `at`; paths in their headers begin with `header`.

    `hidden` are the spans to redact by part, `hide` gives those of a payload. InputError where they are not both requests, or both responses, of one
    api, or where a body could not be read. A size prefix follows from what it counts: it is compared only where it lies.
    """
    for name, frame in (("a", a.shown(hidden[0])), ("b", b.shown(hidden[1]))):
        if not frame.body:
            raise InputError(f"{name} has no body that can be compared: {_what(frame)}; --api and --version say what it is")
    if (a.kind, a.api) != (b.kind, b.api):
        raise InputError(f"only two of one kind can be compared field by field: a is {_what(a.shown(hidden[0]))}, b is {_what(b.shown(hidden[1]))}")

    def operands(mine: Decoded, other: Decoded, part: str) -> tuple[Operand, Operand]:
        return (
            Operand(mine, hidden[0].get(part, frozenset()), reading[0]),
            Operand(other, hidden[1].get(part, frozenset()), reading[1]),
        )

    out = Comparison()
    if a.prefix and b.prefix and any(note.code == "FRAME_SIZE_MISMATCH" for note in (*a.notes, *b.notes)):
        compare(*operands(a.prefix, b.prefix, "size"), out, at)
    if a.header and b.header and a.header.message == b.header.message:
        compare(*operands(a.header, b.header, "header"), out, at.below("header"))
    _between(a, b, out, at.below("header"))
    if a.body and b.body:
        compare(*operands(a.body, b.body, "body"), out, at)
        if not (a.guess or b.guess):
            look_inside(a.catalog, a.body, b.body, out, hide)
            _forwarded(a, b, out, reading, hide)
    return out


def _forwarded(a: Frame, b: Frame, out: Comparison, reading: tuple[RecordsAs, RecordsAs], hide: Hide) -> None:
    """Put what differs within forwarded requests in place of their bytes, unless these are secret: then something in them is."""
    path = CARRIED.get(a.body.message if a.body else "")
    carried = [each.frame for frame in (a, b) if path for each in frame.inside() if isinstance(each, Forwarded)]
    if len(carried) != 2 or not all(frame.body for frame in carried) or carried[0].api != carried[1].api:
        return
    differences: list[Difference] = []
    for each in out.differences:
        if each.kind == "changed" and each.a and each.b and each.a.item and each.b.item and each.a.item.node.name == path:
            found = compare_frames(carried[0], carried[1], ({}, {}), reading, hide, each.at)
            out.rewritten |= found.rewritten
            differences += found.differences
        else:
            differences.append(each)
    out.differences = differences


def _what(frame: Frame) -> str:
    name = frame.api or (f"api key {frame.api_key}" if frame.api_key is not None else "")
    return f"{name} {frame.kind}".strip()


def _between(a: Frame, b: Frame, out: Comparison, place: At) -> None:
    """Bytes after the header that are no body's: some clients write a few."""
    spots = [(frame.header.raw.used, frame.body.start) for frame in (a, b) if frame.header and frame.body]
    extra = [bytes(frame.data[start:stop]) for frame, (start, stop) in zip((a, b), spots, strict=False)]
    if len(extra) == 2 and extra[0] != extra[1]:
        mine, other = (Side(place.path, None, start, len(data), raw=data) for (start, _), data in zip(spots, extra, strict=True))
        out.differences.append(Difference("bytes", place, mine, other, "bytes between header and body"))
