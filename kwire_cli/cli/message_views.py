"""Formats of messages: lines of captures, frames and bodies.

`VIEWS` maps the name of a format to its view, and `FIELD_VIEWS` those that support --fields. A run creates one view for
each format and passes it the messages of all inputs, one by one, so that a capture of any size needs little memory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kwire_cli.cli.options import HEX_ROWS
from kwire_cli.cli.streamed_table import StreamedTable
from kwire_cli.errors import InputError
from kwire_cli.message.frames import Frame
from kwire_cli.message.redaction import Redaction, note_of_guess
from kwire_cli.view import json

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.capture_inputs import Pair
    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


class MessageSettings(NamedTuple):
    """Settings for showing messages.

    Attributes:
        records: The form of records in JSON.
        fields: The columns of a table. Empty for the default columns.
        labelled: Lines of captures contain their file.
        wide: Tables have all columns, even if they are wider than the terminal.

    """

    catalog: Catalog
    show_secrets: bool = False
    records: str = "decoded"
    lossless: bool = False
    full: bool = False
    fields: tuple[str, ...] = ()
    labelled: bool = False
    wide: bool = False


class View:
    """A format, which shows messages one by one. One view serves all inputs.

    A view imports its dependencies when it is created, so that `kwire decode HEX` starts quickly.
    """

    HEADS: ClassVar[bool] = False
    """True if the name of an input precedes its messages, if there are several inputs."""
    FRAMES: ClassVar[bool] = True
    """True if frames and bodies outside of captures are supported."""
    NOTES: ClassVar[bool] = False
    """True if the view itself shows the note on the hidden values of a guess."""
    remark = ""
    """The remark on the current line, for example that a request has no response."""

    @property
    def raw_records(self) -> bool:
        """Return whether records are shown as bytes."""
        return False

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        self.environment = environment
        self.settings = settings
        self.catalog = settings.catalog
        self.redaction = Redaction(self.catalog, show_secrets=settings.show_secrets, raw_records=self.raw_records)

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. `whole` is true if it is complete, and false if it may still grow."""

    def show(self, subject: Frame | Decoded) -> None:
        """Show a frame or a body."""
        if isinstance(subject, Frame):
            self.frame(subject)
            if not self.NOTES and subject.guess and (note := note_of_guess(subject, self.redaction.frame(subject))):
                self.environment.note(f"kwire: frame {subject.number}: {note}")
        else:
            self.body(subject)

    def frame(self, frame: Frame) -> None:
        """Show a frame outside of a capture."""
        raise NotImplementedError

    def body(self, body: Decoded) -> None:
        """Show a body."""
        raise NotImplementedError

    def line(self, line: Captured) -> None:
        """Show a line of a capture."""
        raise NotImplementedError

    def pair(self, pair: Pair) -> None:
        """Show a request and then its response, without the one that the capture lacks."""
        self.remark = pair.remark
        for line in pair.halves:
            self.line(line)
        self.remark = ""

    def end_capture(self) -> None:
        """End a capture."""

    def end(self) -> None:
        """End all inputs."""


class Tree(View):
    """The tree of fields."""

    HEADS = True
    NOTES = True

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        self._between = False
        self._frame, self._body, self._line = self._functions()

    def _functions(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """Return the functions that format a frame, a body and a line of a capture."""
        from kwire_cli.view import hex as hex_view, tree

        full = self.settings.full
        return (
            partial(tree.frame_lines, full=full),
            partial(tree.message_lines, full=full),
            partial(hex_view.capture_tree_lines, full=full),
        )

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture, whole or not."""
        self._between = False

    def frame(self, frame: Frame) -> None:
        """Show a frame."""
        redaction = self.redaction
        lines = self._frame(self.catalog, frame, redaction.frame(frame), reading=redaction.reading())
        self.environment.write_lines(lines)

    def body(self, body: Decoded) -> None:
        """Show a body."""
        redaction = self.redaction
        self.environment.write_lines(self._body(self.catalog, body, redaction.body(body), reading=redaction.reading()))

    def line(self, line: Captured) -> None:
        """Show a line of a capture, below an empty line if it is not the first."""
        if self._between:
            self.environment.write("")
        self._between = True
        redaction = self.redaction
        lines = self._line(self.catalog, line, redaction.line(line), hide=redaction.record)
        if self.remark:
            self.environment.write_lines([[*next(lines), (f"  {self.remark}", "warning")]])
        self.environment.write_lines(lines)


class Hex(Tree):
    """The bytes, field by field."""

    def _functions(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        from kwire_cli.view.hex import HexForm, capture_hex_lines, frame_lines, message_lines

        form = HexForm(None if self.settings.full else HEX_ROWS, self.environment.width)
        return partial(frame_lines, form=form), partial(message_lines, form=form), partial(capture_hex_lines, form=form)


class Json(View):
    """Indented JSON."""

    INDENT: ClassVar[bool] = True

    @property
    def raw_records(self) -> bool:
        """Return whether records are base64."""
        return self.settings.records == "base64"

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        self._form: dict[str, Any] = {"records": settings.records, "lossless": settings.lossless}

    def frame(self, frame: Frame) -> None:
        """Write a frame."""
        hidden = self._check_lossless(self.redaction.frame(frame), "the message")
        self._write(frame.to_json(**self._form, hidden=hidden, reading=self.redaction.reading()))

    def body(self, body: Decoded) -> None:
        """Write a body."""
        hidden = self._check_lossless(self.redaction.body(body), "the message")
        reading = self.redaction.reading()
        self._write(json.message_document(body, **self._form, hidden=hidden, reading=reading))

    def line(self, line: Captured) -> None:
        """Write a line of a capture."""
        self._write(self._document(line))

    def pair(self, pair: Pair) -> None:
        """Write a request and its response as one object, null for the one that the capture lacks."""
        halves = {"request": pair.request, "response": pair.response}
        self._write({name: line and self._document(line) for name, line in halves.items()} | pair.note)

    def _document(self, line: Captured) -> dict[str, Any]:
        hidden = self._check_lossless(self.redaction.line(line), f"frame {line.number}")
        return line.to_json(**self._form, hidden=hidden, hide=self.redaction.record)

    def _check_lossless(self, hidden: Any, what: str) -> Any:
        """Return the hidden values. Raise InputError if there are any under --lossless, which keeps every byte."""
        if hidden and self.settings.lossless:
            text = "holds secrets, or bytes that may be some, and --lossless keeps every byte: add --show-secrets"
            raise InputError(f"{what} {text}")
        return hidden

    def _write(self, document: dict[str, Any]) -> None:
        self.environment.write(json.dumps(document, indent=self.INDENT))


class JsonLines(Json):
    """JSON with one line for each message."""

    INDENT = False

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        self._items: Any = None
        self._has_fast_path = not settings.lossless
        self._records = settings.records
        self._hide = self.redaction.record
        self._has_no_secret = self.redaction.none_in
        self._line_dumps = json.line_dumps

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture, whole or not."""
        if self.settings.records == "decoded" and self._items is None and not self.redaction.catalog.serdes:
            from kwire_cli.view.batch_json import field_text

            self._items = field_text(self.redaction.reading())

    def line(self, line: Captured) -> None:
        """Write a line of a capture, by a fast path without a document if the line contains no secret."""
        if self._has_fast_path and self._has_no_secret(line):
            self.environment.write_text(self._line_dumps(line, self._records, self._hide, self._items))
        else:
            self.environment.write_text(json.many_dumps(self._document(line)))

    def _write(self, document: dict[str, Any]) -> None:
        self.environment.write_text(json.many_dumps(document))


class Columns(View):
    """Rows with the columns of --fields, or by default the columns of the table."""

    FRAMES = False

    @property
    def raw_records(self) -> bool:
        """Return whether a column may contain records."""
        return bool(self.settings.fields)

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.facts.columns import BY_NAME, IN_CSV
        from kwire_cli.filter.rows import FrameRow

        self._row = FrameRow
        fields = settings.fields or IN_CSV
        self.columns = tuple(BY_NAME[name].name if name in BY_NAME else name for name in fields)

    def values(self, line: Captured) -> list[Any]:
        """Return the value of each column."""
        row = self._row(line, self.redaction)
        return [row.shown(name) for name in self.columns]


class Table(Columns):
    """A table. On a terminal it has the columns that fit; elsewhere and with -f wide, it has all columns."""

    HEADS = True

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        from kwire_cli.view import anomaly_counts, frame_table

        self._frames = frame_table
        self._cells = frame_table.columns_of(settings.fields)
        self._counts = anomaly_counts.AnomalyCounts("frame")
        room = None if settings.wide else environment.width
        self._waits = bool(settings.fields or room)
        self._table = StreamedTable(environment, self._cells, room, waits=self._waits)

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. If the widths of columns depend on the rows, the first rows are buffered."""
        if not (whole and self._waits):
            self._table.write(whole=False)

    def line(self, line: Captured) -> None:
        """Show a line of a capture."""
        row = self._row(line, self.redaction)
        self._table.add(self._frames.cells(row, self._cells, self._counts, self.remark))

    def end_capture(self) -> None:
        """Show the buffered rows."""
        if self._table.layout is None:
            self._table.write(whole=not self.settings.fields)
        self._table.end()

    def end(self) -> None:
        """Note the number of rows with anomalies."""
        super().end()
        if self._counts.rows:
            self.environment.note(self._counts.text())


class Csv(Columns):
    """Rows of CSV, after one heading for all inputs."""

    @property
    def raw_records(self) -> bool:
        """Return True: the column with the body may contain records."""
        return True

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        if settings.labelled and not settings.fields:
            self.columns = ("capture_point", "file", *self.columns)
        self._headed = False

    def begin_capture(self, *, whole: bool) -> None:
        """Write the heading, once for all captures."""
        if not self._headed:
            self.environment.write_csv(self.columns)
            self._headed = True

    def line(self, line: Captured) -> None:
        """Write a line of a capture."""
        self.environment.write_csv(self.values(line))


class FieldsJson(Columns):
    """The columns as indented JSON."""

    INDENT: ClassVar[bool] = True

    def line(self, line: Captured) -> None:
        """Write a line of a capture."""
        document = dict(zip(self.columns, self.values(line), strict=True))
        self.environment.write(json.dumps(document, indent=self.INDENT))


class FieldsJsonLines(FieldsJson):
    """The columns as JSON with one line for each message."""

    INDENT = False


VIEWS: dict[str, type[View]] = {
    "tree": Tree,
    "hex": Hex,
    "json": Json,
    "jsonl": JsonLines,
    "table": Table,
    "csv": Csv,
}
FIELD_VIEWS: dict[str, type[View]] = {
    "table": Table,
    "json": FieldsJson,
    "jsonl": FieldsJsonLines,
    "csv": Csv,
}
"""The formats of --fields."""
