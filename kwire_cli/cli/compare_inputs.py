"""The messages of the inputs of `kwire compare`: bodies of frames, and bodies without frames.

Only completely decoded messages can be encoded in other forms. The other messages are counted by the reason why they
cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.capture_inputs import Choice
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.source.reading import Opened, Read


def whole_messages(
    choice: Choice, inputs: Iterable[Opened], skipped: Counter[str], read: Read
) -> Iterator[tuple[str, Decoded]]:
    """Yield the bodies that were decoded completely with their version, and the names of their inputs.

    Other messages are counted in `skipped`. An input is added to `read` after its last message.
    """
    for opened in inputs:
        for decoded in bodies(opened, choice):
            if (reason := _skip_reason(decoded)) or not decoded:
                skipped[reason] += 1
            else:
                yield opened.label, decoded
        read.append((opened.label, opened.emptiness))


def bodies(opened: Opened, choice: Choice) -> Iterator[Decoded | None]:
    """Yield the bodies of an input, or None for a line or frame that is not a known request or response."""
    if opened.kind is Kind.CAPTURE:
        return (_certain_body(line.frame) if line.frame else None for line in choice.among(opened.subjects()))
    return opened.subjects() if opened.kind is Kind.BODY else map(_certain_body, opened.subjects())


def _certain_body(frame: Frame) -> Decoded | None:
    return None if frame.guess else frame.body


def _skip_reason(decoded: Decoded | None) -> str:
    """Return the reason why a message cannot be compared, or an empty string."""
    if not decoded:
        return "not known as a request or response"
    if not decoded.exact:
        return "not decoded completely by their own version"
    lossy = any(anomaly.code == "INVALID_UTF8" for anomaly in decoded.anomalies)
    return "with text that is not UTF-8" if lossy else ""
