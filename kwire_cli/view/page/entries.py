"""Pages of frames and of batches: what `kwire decode` and `kwire dump` show, as the rows of one page.

A response is in the row of its request. Rows and details are kept until the page ends, since rows count times from the
first one. The details are packed, so the page is not larger in memory than in its file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from kwire_cli.analysis.ladder import answer_text, request_text
from kwire_cli.errors import InputError
from kwire_cli.facts.columns import BY_NAME, values_of_line
from kwire_cli.message.guess import describe_candidates
from kwire_cli.message.redaction import note_of_guess
from kwire_cli.records.batch import Batch
from kwire_cli.view.lines import escaped
from kwire_cli.view.outline import batch_title
from kwire_cli.view.page.details import Details
from kwire_cli.view.page.rows import BATCHES, CALLS, Rows
from kwire_cli.view.page.shell import empty, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Hidden
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.bounded_outline import BoundedOutline

    Row = dict[str, Any]

_COLUMNS = tuple({column.name: column for row in CALLS if (column := BY_NAME.get(row.name))}.values())


class Page:
    """A page of frames or batches, up to `most` of them and to the bytes of `Details`.

    `write` takes the text at the end. As a context the page ends also if something breaks it off, but not before the
    first entry: an error leaves no page of nothing. `arguments` are the inputs as they are typed.
    """

    def __init__(
        self, write: Callable[[str], None], kind: str, title: str, *, command: str, arguments: str, most: int
    ) -> None:
        self._write = write
        self._kind = kind
        self._title = escaped(title)
        self._command = command
        self._arguments = arguments
        self._most = most
        self._details = Details()
        self._rows: list[Row] = []
        self._requests: dict[tuple[Any, int], Row] = {}
        self._left: str | None = None
        self._joined = 0
        self._entries = 0
        self.file = ""
        """The file of the entries that come, if there are several."""

    @property
    def is_full(self) -> bool:
        """Return whether the page takes no more entries."""
        return self.count >= self._most or self._details.is_full

    @property
    def more(self) -> str | None:
        """The command for what the page leaves out, if it leaves out anything."""
        return self._left

    @property
    def count(self) -> int:
        """Return the entries so far, those that were joined as one."""
        return self._entries - self._joined

    def __len__(self) -> int:
        return self._entries

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._rows or kind is None:
            self.end()

    def add(self, row: Row, outline: BoundedOutline) -> None:
        """Add a frame or a batch with its fields and bytes. A response gets into the row of its request."""
        self._details.add(self._entries, outline)
        at = self._details.at.get(self._entries)
        self._entries += 1
        key = row.get("capture_point"), row.get("request_frame")
        if key in self._requests:
            self._requests[key].update(_of_answer(row), answered_at=at)
            return
        side = "answered_at" if row.get("request") is None and row.get("response") is not None else "asked_at"
        row |= {side: at, "file": self.file}
        self._rows.append(row)
        if row.get("request") is not None:
            self._requests[row.get("capture_point"), row["request"]] = row

    def join(self, entries: int) -> None:
        """Count the last entries as one, such as a request and its response."""
        self._joined += entries - 1

    def turn_to(self, kind: str) -> None:
        """Expect frames or batches from now on. Raises InputError if the page has entries of the other kind."""
        if self._rows and kind != self._kind:
            raise InputError(
                f"a page has frames or batches, and this one has {self._kind}: give these inputs one by one"
            )
        self._kind = kind

    def leave(self, option: str) -> None:
        """Set the option of the command that shows the rest."""
        self._left = f"kwire {self._command} {self.file or self._arguments} {option} -o rest.html"

    def end(self) -> None:
        """Write the page."""
        self._details.finish()
        times = [row["time"] for row in self._rows if row.get("time") is not None]
        rows = Rows(CALLS if self._kind == "frames" else BATCHES, min(times, default=None))
        for row in self._rows:
            rows.add(row)
        ends = [row["time"] + (row.get("latency_us") or 0) for row in self._rows if row.get("time") is not None]
        text = f"the first {self._entries:,} {self._kind}"
        data = empty(self._title) | {
            "arguments": escaped(self._arguments),
            "start": min(times, default=None),
            "length": max(ends) - min(times) if times else None,
            "left": {"text": text, "command": escaped(self._left)} if self._left else None,
            "rows": rows.document(),
        }
        for part in page(f"{self._title} ({text})" if self._left else self._title, data, self._details.chunks):
            self._write(part)


def _of_answer(row: Row) -> Row:
    """Return what a response adds to the row of its request."""
    names = ("response", "response_size", "latency_us", "errors", "throttle_ms", "is_wait", "kind")
    return {name: row[name] for name in names if row.get(name) is not None} | {"kind": "call"}


def line_row(line: Captured) -> Row:
    """Return the row of a line of a capture."""
    row: Row = {column.name: value for column, value in zip(_COLUMNS, values_of_line(line, _COLUMNS), strict=True)}
    is_answer = not (line.is_frame and line.kind == "request")
    size = row.pop("size", line.seen.size)
    title = {"sasl-token": "SASL token", "not-kafka": line.seen.protocol or "not Kafka"}.get(line.kind, line.code)
    about = request_text(row["groups"], row["transactional_id"], (), row["topics"])
    answered = answer_text((), row["throttle_ms"]) if is_answer else ""
    return row | {
        "api": row["api"] or title,
        "request_frame": line.request.number if line.request else None,
        "response" if is_answer else "request": line.number,
        "response_size" if is_answer else "request_size": size,
        "broker": line.src if is_answer else line.dst,
        "what": ", ".join(filter(None, [about, answered, *line.seen.content, line.seen.reason])),
        "time": row["time"],
        "throttle_ms": row["throttle_ms"] or None,
        "is_wait": line.delayed if line.request else None,
        "expects_answer": None if is_answer else line.wants_response,
    }


def frame_row(frame: Frame, hidden: Hidden) -> Row:
    """Return the row of a frame without time or connection."""
    others = describe_candidates(frame.candidates)
    notes = [frame.label, others and f"it could also be {others}", note_of_guess(frame, hidden)]
    side = "response" if frame.kind == "response" else "request"
    return {
        "frame": frame.number,
        side: frame.number,
        f"{side}_size": frame.size,
        "kind": frame.kind,
        "api": frame.api or ("unknown" if frame.api_key is None else f"api key {frame.api_key}"),
        "api_version": frame.api_version,
        "what": "; ".join(filter(None, notes)),
        "expects_answer": False,
    }


def message_row(decoded: Decoded, number: int) -> Row:
    """Return the row of a body alone."""
    return {
        "frame": number,
        "request": number,
        "request_size": decoded.stop - decoded.start,
        "kind": "message",
        "api": decoded.message,
        "api_version": decoded.version,
        "expects_answer": False,
    }


def batch_row(item: Batch | Gap) -> Row:
    """Return the row of a batch, or of bytes that are no batch."""
    row: Row = {"position": item.position, "size": item.size}
    if not isinstance(item, Batch):
        return row | {"what": f"gap: {item.code}", "kind": "gap"}
    head = item.head
    return row | {
        "what": batch_title(item),
        "kind": "control" if head.control else "batch",
        "time": head.max_timestamp * 1000 if head.max_timestamp >= 0 else None,
        "base_offset": head.base_offset,
        "last_offset": head.last_offset,
        "records": head.records_count,
        "producer": None if head.producer_id == -1 else f"{head.producer_id}/{head.producer_epoch}",
        "anomalies": [note.code for note in item.notes],
    }
