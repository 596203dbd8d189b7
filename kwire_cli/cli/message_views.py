"""Formats of messages: lines of captures, frames and bodies.

`VIEWS` maps the name of a format to its view, and `FIELD_VIEWS` names those that support --fields. A run creates one
view for each format and passes it the messages of all inputs, one by one, so that a capture of any size needs little
memory. `MessageOptions` are the options that a view follows.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.cli.completers import complete_columns
from kwire_cli.cli.fits import ALL_MESSAGES, CAPTURES
from kwire_cli.cli.options import HEX_ROWS, Definitions, Listing, Secrets
from kwire_cli.cli.streamed_table import StreamedTable
from kwire_cli.cli.typed_options import flag, option
from kwire_cli.errors import InputError, counted
from kwire_cli.message.decoded import Decoded
from kwire_cli.message.frames import Frame
from kwire_cli.message.redaction import Redaction
from kwire_cli.view import json

if TYPE_CHECKING:
    from kwire_cli.cli.capture_inputs import Pair
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kafka.captured import Captured


class MessageOptions(Listing, Definitions, Secrets):
    """Options for showing messages."""

    fields: str | None = option(
        "--fields",
        section="Output",
        fits=CAPTURES,
        metavar="A,B,C",
        shell_complete=complete_columns,
        help="Show only these columns or fields (table, csv, json).",
    )
    records: str | None = option(
        "--records",
        section="Output",
        type=click.Choice(["decoded", "size", "base64"]),
        help="Show records decoded, by size or as base64 (json, jsonl).",
    )
    lossless: bool = flag(
        "--lossless",
        section="Output",
        fits=ALL_MESSAGES,
        rare=True,
        help="Keep what JSON cannot carry, so that encode restores the same bytes.",
    )

    @property
    def records_form(self) -> str:
        """The form of records in JSON: the requested one, base64 with --lossless, or else decoded."""
        return self.records or ("base64" if self.lossless else "decoded")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in --fields."""
        return () if self.fields is None else tuple(name.strip() for name in self.fields.split(","))


class View:
    """A format, which shows messages one by one. One view serves all inputs.

    A view imports its dependencies when it is created, so that `kwire decode HEX` starts quickly. If `labelled`, lines
    of captures contain their file.
    """

    HEADS: ClassVar[bool] = False
    """True if the name of an input precedes its messages, if there are several inputs."""
    FRAMES: ClassVar[bool] = True
    """True if frames and bodies outside of captures are supported."""

    def __init__(
        self, environment: Environment, options: MessageOptions, *, show_secrets: bool = False, labelled: bool = False
    ) -> None:
        self.environment = environment
        self.options = options
        self.labelled = labelled
        self.redaction = Redaction(options.catalog, show_secrets=show_secrets, raw_records=self.has_raw_records)
        self.remark = ""
        """The remark on the current line, for example that a request has no response."""

    @property
    def has_raw_records(self) -> bool:
        """Return whether records may be shown as bytes."""
        return False

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. `whole` is true if it is complete, and false if it may still grow."""

    def show(self, subject: Captured | Frame | Decoded) -> None:
        """Show a line of a capture, or a frame or body outside of a capture."""
        raise NotImplementedError

    def pair(self, pair: Pair) -> None:
        """Show a request and then its response, without the one that the capture lacks."""
        self.remark = pair.remark
        for line in pair.halves:
            self.show(line)
        self.remark = ""

    def end_capture(self) -> None:
        """End a capture."""

    def end(self) -> None:
        """End all inputs."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of --fields, or by default the columns of csv."""
        from kwire_cli.facts.columns import BY_NAME, IN_CSV

        return tuple(BY_NAME[name].name if name in BY_NAME else name for name in self.options.columns or IN_CSV)

    @cached_property
    def row_type(self) -> Any:
        """The class of rows of captures."""
        from kwire_cli.filter.rows import FrameRow

        return FrameRow

    def values(self, line: Captured) -> list[Any]:
        """Return the value of each column."""
        row = self.row_type(line, self.redaction)
        return [row.shown(name) for name in self.columns]


class Tree(View):
    """The tree of fields."""

    HEADS = True

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        from kwire_cli.view.subjects import subject_lines

        self._is_first = True
        self._lines = subject_lines
        self._form = self._make_form()

    def _make_form(self) -> dict[str, Any]:
        """Return the functions that format frames and bodies."""
        from kwire_cli.view import tree

        full = self.options.full
        return {
            "frame_lines": partial(tree.frame_lines, full=full),
            "message_lines": partial(tree.message_lines, full=full),
        }

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture, whole or not."""
        self._is_first = True

    def show(self, subject: Captured | Frame | Decoded) -> None:
        """Show a message. Lines of a capture have empty lines between them."""
        lines = self._lines(self.redaction, subject, **self._form)
        if not isinstance(subject, Frame | Decoded):
            if not self._is_first:
                self.environment.write("")
            self._is_first = False
        if self.remark:
            self.environment.write_lines([[*next(lines), (f"  {self.remark}", "warning")]])
        self.environment.write_lines(lines)


class Hex(Tree):
    """The bytes, field by field."""

    def _make_form(self) -> dict[str, Any]:
        from kwire_cli.view import hex as hex_view

        form = hex_view.HexForm(None if self.options.full else HEX_ROWS, self.environment.width)
        return {
            "frame_lines": partial(hex_view.frame_lines, form=form),
            "message_lines": partial(hex_view.message_lines, form=form),
        }


class Json(View):
    """Indented JSON: whole messages, or the columns of --fields."""

    @property
    def has_raw_records(self) -> bool:
        """Return whether records are base64, or a column may contain records."""
        return bool(self.options.columns) or self.options.records_form == "base64"

    def show(self, subject: Captured | Frame | Decoded) -> None:
        """Write a message."""
        self._write(self._document(subject))

    def pair(self, pair: Pair) -> None:
        """Write a request and its response as one object, null for the one that the capture lacks."""
        if self.options.columns:
            super().pair(pair)
            return
        halves = {"request": pair.request, "response": pair.response}
        self._write({name: line and self._document(line) for name, line in halves.items()} | pair.note)

    def _document(self, subject: Captured | Frame | Decoded) -> dict[str, Any]:
        redaction = self.redaction
        form: dict[str, Any] = {"records": self.options.records_form, "lossless": self.options.lossless}
        if isinstance(subject, Frame):
            hidden = self._check_lossless(redaction.frame(subject), "the message")
            return subject.to_json(**form, hidden=hidden, reading=redaction.reading())
        if isinstance(subject, Decoded):
            spans = self._check_lossless(redaction.body(subject), "the message")
            return json.message_document(subject, **form, hidden=spans, reading=redaction.reading())
        if self.options.columns:
            return dict(zip(self.columns, self.values(subject), strict=True))
        hidden = self._check_lossless(redaction.line(subject), f"frame {subject.number}")
        return subject.to_json(**form, hidden=hidden, hide=redaction.record)

    def _check_lossless(self, hidden: Any, what: str) -> Any:
        """Return the hidden values. Raise InputError if there are any under --lossless, which keeps every byte."""
        if hidden and self.options.lossless:
            text = "holds secrets, or bytes that may be some, and --lossless keeps every byte: add --show-secrets"
            raise InputError(f"{what} {text}")
        return hidden

    def _write(self, document: dict[str, Any]) -> None:
        self.environment.write(json.dumps(document, indent=True))


class JsonLines(Json):
    """JSON with one line for each message."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._field_text: Any = None
        self._has_fast_path = not self.options.lossless and not self.options.columns
        self._records = self.options.records_form

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture, whole or not."""
        if self._records == "decoded" and self._field_text is None and not self.redaction.catalog.serdes:
            from kwire_cli.view.batch_json import field_text

            self._field_text = field_text(self.redaction.reading())

    def show(self, subject: Captured | Frame | Decoded) -> None:
        """Write a message, by a fast path without a document if it is a line of a capture without secrets."""
        if self._has_fast_path and not isinstance(subject, Frame | Decoded) and self.redaction.none_in(subject):
            text = json.line_dumps(subject, self._records, self.redaction.record, self._field_text)
            self.environment.write_text(text)
        else:
            super().show(subject)

    def _write(self, document: dict[str, Any]) -> None:
        if self.options.columns:
            self.environment.write(json.dumps(document, indent=False))
        else:
            self.environment.write_text(json.many_dumps(document))


class Table(View):
    """A table. On a terminal it has the columns that fit; elsewhere and with -f wide, it has all columns."""

    HEADS = True
    FRAMES = False

    @property
    def has_raw_records(self) -> bool:
        """Return whether a column may contain records."""
        return bool(self.options.columns)

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        from kwire_cli.view import anomaly_counts, frame_table

        self._frames = frame_table
        self._cells = frame_table.columns_of(self.options.columns)
        self._counts = anomaly_counts.AnomalyCounts("frame")
        room = None if self.options.wide else self.environment.width
        self._waits = bool(self.options.columns or room)
        self._table = StreamedTable(self.environment, self._cells, room, waits=self._waits)

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. If the widths of columns depend on the rows, the first rows are buffered."""
        if not (whole and self._waits):
            self._table.write(whole=False)

    def show(self, subject: Captured | Frame | Decoded) -> None:
        """Show a line of a capture."""
        row = self.row_type(subject, self.redaction)
        self._table.add(self._frames.cells(row, self._cells, self._counts, self.remark))

    def end_capture(self) -> None:
        """Show the buffered rows."""
        if self._table.layout is None:
            self._table.write(whole=not self.options.columns)
        self._table.end()

    def end(self) -> None:
        """Note the number of rows with anomalies."""
        if self._counts.rows:
            self.environment.note(self._counts.text())


class Csv(View):
    """Rows of CSV, after one heading for all inputs."""

    FRAMES = False

    @property
    def has_raw_records(self) -> bool:
        """Return True: the column with the body may contain records."""
        return True

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if self.labelled and not self.options.columns:
            self.columns = ("capture_point", "file", *self.columns)
        self._has_heading = False

    def begin_capture(self, *, whole: bool) -> None:
        """Write the heading, once for all captures."""
        if not self._has_heading:
            self.environment.write_csv(self.columns)
            self._has_heading = True

    def show(self, subject: Any) -> None:
        """Write a line of a capture."""
        self.environment.write_csv(self.values(subject))


class Pcap(View):
    """The original packets in the format pcap: the packets of lines are copied in a second pass over the captures."""

    FRAMES = False
    FORM: ClassVar[str] = "pcap"

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._chosen: dict[str, set[int]] = {}

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. Raise InputError for a pipe, which cannot be read twice."""
        if not whole:
            raise InputError(f"--format {self.FORM} reads a capture twice; save the pipe to a file first")

    def show(self, subject: Any) -> None:
        """Select the packets of a line of a capture."""
        for file, packet in subject.packets:
            if file is not None and packet is not None:
                self._chosen.setdefault(file, set()).add(packet)

    def end(self) -> None:
        """Copy the selected packets."""
        from kwire_cli.source.packets.writing import copy_packets

        copy_packets(self._chosen, self.FORM, self.environment.write_bytes)
        count = sum(map(len, self._chosen.values()))
        if count:
            packets = counted(count, "packet")
            self.environment.note(f"kwire: {packets} copied as captured, secrets included; see kwire sanitize")


class Pcapng(Pcap):
    """The original packets in the format pcapng."""

    FORM = "pcapng"


CAPTURE_VIEWS = {"pcap": Pcap, "pcapng": Pcapng}
"""The formats that copy packets."""
VIEWS: dict[str, type[View]] = {
    "tree": Tree,
    "hex": Hex,
    "json": Json,
    "jsonl": JsonLines,
    "table": Table,
    "csv": Csv,
    **CAPTURE_VIEWS,
}
FIELD_VIEWS = {name: VIEWS[name] for name in ("table", "json", "jsonl", "csv")}
"""The formats of --fields."""
