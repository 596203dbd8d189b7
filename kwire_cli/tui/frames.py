"""Frames from a text or from bytes in a list."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.source.frames import frames_in
from kwire_cli.tui.costs import frame_costs
from kwire_cli.tui.look import Look, look_of
from kwire_cli.tui.rows import FrameRow
from kwire_cli.view.html.frames import frame_entry
from kwire_cli.view.html.outline import Outline
from kwire_cli.view.table import text_of
from kwire_cli.view.tree import frame_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.filter import Filter
    from kwire_cli.message.frames import Frame, Hints
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.text import Input
    from kwire_cli.view.lines import Line

    Matches = Callable[[Any], bool]

_WIDTHS = {"frame": 6, "kind": 8, "api": 28, "ver": 3, "size": 9}


class Frames:
    """The frames of an input that is no capture; the text was read already, so that it is in memory."""

    what = ("frame", "frames")
    number_is = "a frame's number"

    def __init__(self, redaction: Redaction, found: Input, filter_of: Callable[[str], Filter], hints: Hints, *, framed: bool | None) -> None:
        self.catalog, self.found, self.hints, self.framed, self.redaction = redaction.catalog, found, hints, framed, redaction
        self.notes: list[str] = []
        self._filter_of = filter_of
        self._frames: list[Frame] = []
        self._read = False

    def __len__(self) -> int:
        return len(self._frames)

    def read(self) -> Iterator[float]:
        """Find the frames."""
        size, read = sum(len(chunk.data) for chunk in self.found.chunks), 0
        for frame in frames_in(self.catalog, self.found, self.hints, framed=self.framed):
            self._frames.append(frame)
            read += frame.size
            yield min(read / max(size, 1), 1.0)
        self._read = True

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """What finds the frames that match."""
        return partial(self._select, self._filter_of(text).matches)

    def _select(self, matches: Matches) -> Iterator[tuple[float, list[int]]]:
        number = 0
        while number < len(self._frames) or not self._read:
            if number == len(self._frames):
                yield 0.0, []
                continue
            found = [number] if matches(FrameRow(self.redaction, self._frames[number])) else []
            number += 1
            yield number / len(self._frames), found

    def heading(self, width: int) -> Line:  # noqa: ARG002 - as that of other listings
        """The names of the columns."""
        return [(f"{'  '.join(_cell(name, name) for name in _WIDTHS)}  anomalies", "dim")]

    def row(self, number: int, width: int) -> Line:  # noqa: ARG002 - as above
        """A frame in one line."""
        frame = self._shown(number)
        cells = (number + 1, frame.kind, frame.api or text_of(frame.api_key), text_of(frame.api_version), frame.size)
        styles = ("dim", "", "name", "", "number")
        line: Line = []
        for name, cell, style in zip(_WIDTHS, cells, styles, strict=True):
            line += [(_cell(name, str(cell)), style), ("  ", "")]
        codes = ",".join(dict.fromkeys(anomaly.code for anomaly in frame.anomalies))
        return [*line, (codes, "warning"), ("  guessed" if frame.guess else "", "dim"), (f"  # {text_of(frame.label)}" if frame.label else "", "dim")]

    def title(self, number: int) -> str:
        """What a frame is."""
        return "".join(text for text, _ in frame_title(self._shown(number)))

    def _shown(self, number: int) -> Frame:
        frame = self._frames[number]
        return frame.shown(self.redaction.frame(frame))

    def is_odd(self, number: int) -> bool:
        """Whether it has an anomaly."""
        return bool(self._frames[number].anomalies)

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - as above
        """Nothing says which belong together."""
        return None

    def numbered(self, text: str) -> int | None:
        """The frame of this number."""
        return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(self) else None

    def look(self, number: int, *, full: bool) -> Look:
        """A frame byte by byte."""
        frame = self._frames[number]
        hidden, reading = self.redaction.frame(frame), self.redaction.reading()
        entry = frame_entry(self.catalog, frame, hidden, reading, Outline(full=full))
        return look_of(entry, frame_costs(frame), partial(frame.to_json, records="decoded", hidden=hidden, reading=reading))

    def close(self) -> None:
        """There is nothing to let go of."""


def _cell(name: str, text: str) -> str:
    width = _WIDTHS[name]
    return f"{text:>{width}}" if name in {"frame", "ver", "size"} else f"{text[:width]:<{width}}"
