"""The messages of inputs that `kwire compare` writes in other forms: bodies of frames, and bodies alone."""

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
    """Yield the bodies that were decoded whole by their own version, with the names of their inputs.

    Other messages count in `skipped`. Inputs are added to `read` at their ends.
    """
    for opened in inputs:
        for decoded in bodies(opened, choice):
            if (reason := _unpriced(decoded)) or not decoded:
                skipped[reason] += 1
            else:
                yield opened.label, decoded
        read.append((opened.label, opened.emptiness))


def bodies(opened: Opened, choice: Choice) -> Iterator[Decoded | None]:
    """Yield the bodies of an input; None for a line or frame that is not known as a request or response."""
    if opened.kind is Kind.CAPTURE:
        return (_body(line.frame) if line.frame else None for line in choice.among(opened.subjects()))
    return opened.subjects() if opened.kind is Kind.BODY else map(_body, opened.subjects())


def _body(frame: Frame) -> Decoded | None:
    return None if frame.guess else frame.body


def _unpriced(decoded: Decoded | None) -> str:
    """Return why a message has no price, or an empty text."""
    if not decoded:
        return "not known as a request or response"
    if not decoded.exact:
        return "not decoded completely by their own version"
    lossy = any(anomaly.code == "INVALID_UTF8" for anomaly in decoded.anomalies)
    return "with text that is not UTF-8" if lossy else ""
