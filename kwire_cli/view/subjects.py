"""Lines of captures, frames and bodies as trees and as annotated hex.

A frame of a capture has the same lines as any other frame, below a line with its time, its connection and its request.
Bytes of a capture that are not a frame have a title instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.message.decoded import Decoded
from kwire_cli.message.frames import Frame
from kwire_cli.structs.lengths import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.lines import Line


def subject_lines(
    redaction: Redaction,
    subject: Captured | Frame | Decoded,
    frame_lines: Callable[..., Iterator[Line]],
    message_lines: Callable[..., Iterator[Line]],
) -> Iterator[Line]:
    """Yield the lines of a subject. `frame_lines` and `message_lines` are the functions of `tree` or of `hex`."""
    catalog = redaction.catalog
    if isinstance(subject, Decoded):
        yield from message_lines(catalog, subject, redaction.body(subject), reading=redaction.reading())
        return
    if isinstance(subject, Frame):
        yield from frame_lines(catalog, subject, redaction.frame(subject), reading=redaction.reading())
        return
    yield _where(subject)
    if subject.code or not subject.frame:
        yield _other(subject)
    if subject.frame:
        reading = subject.reading(redaction.record)
        lines: Any = frame_lines(catalog, subject.frame, redaction.line(subject), asked=subject.asked, reading=reading)
        if subject.code:
            next(lines)  # the title of a frame
        yield from lines


def _where(line: Captured) -> Line:
    file, packet = line.where
    where = f" of {file}" if line.origin.several else ""
    out: Line = [
        (f"{line.time or 'no time'}  {line.src} → {line.dst}  stream {line.stream}, packet {packet}{where}", "dim")
    ]
    if line.request:
        out.append((f"  answers frame {line.request.number}", "dim"))
    if line.latency is not None:
        out.append((f" after {line.latency * 1000:.3f} ms", "number"))
    if line.topics:
        out.append((f"  {', '.join(line.topics)}", "text"))
    return out


def _other(line: Captured) -> Line:
    event = line.seen
    size = f"{event.size} byte{'' if event.size == 1 else 's'}"
    if line.kind == "sasl-token":
        return [(f"frame {line.number}: ", "dim"), ("SASL token", "title"), (f" {redacted(event.size)}", "secret")]
    if line.kind == "not-kafka":
        out: Line = [
            (f"frame {line.number}: ", "dim"),
            (f"not Kafka: {event.protocol or 'unknown'}", "warning"),
            (f", {size}", "dim"),
        ]
        out += [(f": {', '.join(event.content)}", "text")] if event.content else []
        return [*out, (f"; not decrypted: {event.reason}", "warning")] if event.reason else out
    return [(f"frame {line.number}: ", "dim"), (f"gap: {line.code}", "warning"), (f", {size}", "dim")]
