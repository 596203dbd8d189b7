"""The messages of the inputs of `kwire compare`: bodies of frames, bodies without frames, and messages in records.

Only completely decoded messages can be encoded in other forms. The other messages are counted by the reason why they
cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.prices import body_of, skip_reason
from kwire_cli.message.frames import Frame
from kwire_cli.records.batch import Batch, has_payloads, payload_of
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.capture_inputs import Choice
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.log_inputs import LogInput
    from kwire_cli.source.reading import Opened, Read


def whole_messages(
    choice: Choice, inputs: Iterable[Opened], skipped: Counter[str], read: Read
) -> Iterator[tuple[str, Decoded]]:
    """Yield the bodies that were decoded completely with their version, and the names of their inputs.

    Other messages are counted in `skipped`. An input is added to `read` after its last message.
    """
    for opened in inputs:
        for decoded in bodies(opened, choice):
            if (reason := skip_reason(decoded)) or not decoded:
                skipped[reason] += 1
            else:
                yield opened.label, decoded
        read.append((opened.label, opened.emptiness))


def subjects(opened: Opened, choice: Choice) -> Iterator[Any]:
    """Yield the chosen lines of a capture, or the frames or bodies of another input."""
    return choice.among(opened.subjects()) if opened.kind is Kind.CAPTURE else opened.subjects()


def bodies(opened: Opened, choice: Choice) -> Iterator[Decoded | None]:
    """Yield the bodies of an input, or None for a line or frame that is not a known request or response."""
    for subject in subjects(opened, choice):
        yield body_of(subject)


def headers(opened: Opened, choice: Choice) -> Iterator[Decoded | None]:
    """Yield the headers of the requests and responses of an input, or None for a line without a known header."""
    for subject in subjects(opened, choice):
        frame = subject.frame if isinstance(subject, Captured) else subject
        yield frame.header if isinstance(frame, Frame) and not frame.guess else None


def payloads(opened: LogInput) -> Iterator[Body]:
    """Yield the keys and values of records in internal topics, if there are definitions for them."""
    for file in opened.files():
        for item in file.items(file.source(opened.how), opened.caller):
            if not isinstance(item, Batch) or not has_payloads(item):
                continue
            for record in item.records():
                payload = payload_of(item, record)
                if payload and payload.record:
                    parts = payload.record.key, payload.record.value
                    yield from (part.body for part in parts if part and part.body)
    opened.caller.done()
