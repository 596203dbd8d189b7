"""`kwire decode`: decode requests, responses, messages and record batches.

Each input is recognised and shown by the view for its kind and format; a view serves all inputs of that format. Record
batches are passed to the code of `kwire dump`. Lines are shown as they are read, except under --sort, which collects
them first. Modules that not every run needs are imported late: start-up counts.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.fits import BATCHES, CAPTURES, LISTED, ROWS, refuse_unfit, refuse_unless
from kwire_cli.cli.inputs import Terminal, not_understood, reading_of, shows_secrets
from kwire_cli.cli.message_views import CAPTURE_VIEWS, FIELD_VIEWS, VIEWS, MessageOptions
from kwire_cli.cli.options import (
    Captures,
    FrameChoosing,
    Headers,
    Messages,
    refuse_terminal,
)
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.sorting import Ordering
from kwire_cli.cli.typed_options import argument, flag, option, refuse, takes
from kwire_cli.errors import DecodeError
from kwire_cli.message.decoded import Decoded, checked
from kwire_cli.message.frames import Frame
from kwire_cli.message.redaction import note_of_guess
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Follow, Read, empty_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.cli.batches import BatchRun
    from kwire_cli.cli.capture_inputs import Pair
    from kwire_cli.cli.message_views import View
    from kwire_cli.cli.report import Page
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.log_inputs import LogInput
    from kwire_cli.source.opening import Inputs
    from kwire_cli.source.reading import Opened, Reading

_TAKES = frozenset({Kind.CAPTURE, Kind.REQUEST_LOG, Kind.BATCHES, Kind.LOG_FILE, Kind.FRAMES, Kind.BODY})

PAGE = "html"
"""The format of a page for a browser, which is the page of `kwire report` with the frames first."""
_NO_PAGE_OPTIONS = (
    "pairs",
    "fields",
    "records",
    "lossless",
    "full",
    "strict",
    "exit_code",
    "sort",
    "top",
    "follow",
    "packets",
)
"""Options that a page ignores, and that are therefore refused."""

EXAMPLES = (
    ("kwire decode incident.pcap --filter error --pairs", "what failed, with its request"),
    ("kwire decode incident.pcap --filter error --pairs -o ticket.pcapng", "the packets of these frames"),
    ("kwire decode 0000000d00120000000000070003617070", "bytes from a log or Wireshark"),
)


class Options(MessageOptions, Captures, FrameChoosing, Messages, Headers, Payloads):
    """Options of `kwire decode`."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    filter: str | None = option(
        "--filter",
        fits=LISTED,
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Show only what matches, such as 'latency > 100ms'.",
    )
    pairs: bool = flag(
        "--pairs", section="Choose", fits=CAPTURES, help="Show requests together with their responses (captures)."
    )
    follow: bool = flag(
        "--follow", section="Input", fits=CAPTURES, help="Keep reading an input that grows, until Ctrl-C."
    )
    verbose: bool = flag("-v", "--verbose", section="Input", help="Say on standard error how the input was recognised.")
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice((*VIEWS, "wide", PAGE)),
        help="Set the output format; pcap copies packets.  [default: table or tree; jsonl in a pipe]",
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.lossless and self.records not in {None, "base64"}:
            raise click.UsageError(f"--lossless keeps every byte: omit --records {self.records}")
        if self.redact and self.records_form == "base64":
            raise click.UsageError("--redact hides fields of decoded records: omit --records base64 and --lossless")
        if self.redact and not self.show_secrets and self.is_capture:
            raise click.UsageError("--redact is not for captures, which hold all bytes: kwire sanitize replaces values")
        if self.follow and len(self.source) > 1:
            raise click.UsageError("--follow takes one capture")
        if self.follow and self.is_capture:
            raise click.UsageError("pcap and pcapng are copied from a capture that is complete, without --follow")
        if self.follow and self.sort:
            raise click.UsageError("--sort reads to the end, and --follow has none")

    @property
    def is_live(self) -> bool:
        """Return whether frames are shown as they arrive."""
        return self.follow

    @property
    def is_capture(self) -> bool:
        """Return whether packets are copied."""
        return (self.fmt or self.suffix_among(CAPTURE_VIEWS)) in CAPTURE_VIEWS


@click.command(name="decode", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Decode Kafka requests, responses and other messages.

    INPUT is files, - for standard input, or the bytes themselves: hex in any common form, base64, or raw. A
    response does not name its api: give --api and --message-version, or take the best guess.
    """
    views = VIEWS if options.fields is None else FIELD_VIEWS
    if options.fmt and options.fmt not in (*views, "wide"):
        refuse(options, ("fields",), f"shows {', '.join(views)}, not {options.fmt}")
    fmt = options.format_for(environment, (*views, PAGE))
    if fmt == PAGE:
        from kwire_cli.cli.report import write_page  # start-up counts

        refuse(options, _NO_PAGE_OPTIONS, "is not for a page")
        return write_page(environment, cast("Page", options), "frames")  # it has all options of a page
    refuse_terminal(environment, fmt)
    interrupt = environment.interrupt
    follow = Follow(stop=lambda: bool(interrupt)) if options.follow else None
    how = replace(reading_of(options, follow=follow), packets=options.is_capture, verbose=options.verbose)
    inputs = open_inputs(options.source, how, Terminal(environment), takes=_TAKES)
    run = _Run(environment, options, views)
    run.show(inputs)
    return run.exit_code


class _Run:
    """One run of the command over its inputs, with the facts that determine the exit code."""

    def __init__(self, environment: Environment, options: Options, views: Mapping[str, type[View]]) -> None:
        self.environment = environment
        self.options = options
        self.views = views
        self._by_format: dict[str, View] = {}
        self.decodable = self.anomalies = False
        self.empty: bool | None = None
        self.batches: BatchRun | None = None
        self.logs: list[Opened] = []
        self.read: Read = []
        self.ordering: Ordering[Captured | Pair] | None = None

    @property
    def exit_code(self) -> Exit:
        """Return the exit code. Raises InputError if nothing could be decoded."""
        if not self.decodable:
            raise empty_inputs(self.read) or not_understood("nothing could be decoded", self.options.source)
        found = (self.options.strict and self.anomalies) or (self.options.exit_code and bool(self.empty))
        return Exit.FOUND if found else Exit.DONE

    def _use_view(self, opened: Opened, *, labelled: bool) -> None:
        """Set the view for an input. On a terminal, captures and logs are a table, and other messages are a tree."""
        options = self.options
        is_table = opened.kind is Kind.CAPTURE or (opened.kind in BATCHES.kinds and opened.recognised.text is None)
        for_eyes = "tree" if options.fields is None and (options.full or not is_table) else "table"
        self.fmt = options.format_for(self.environment, self.views, for_eyes)
        if self.fmt in CAPTURE_VIEWS and opened.kind is not Kind.CAPTURE:
            text = f"--format {self.fmt} is for captures, and {opened.label} is {opened.kind.what}"
            raise click.UsageError(text)
        if self.fmt not in self._by_format:
            show_secrets = shows_secrets(options, *options.source)
            view = self.views[self.fmt](self.environment, options, show_secrets=show_secrets, labelled=labelled)
            self._by_format[self.fmt] = view
        self.view = self._by_format[self.fmt]

    def show(self, inputs: Inputs) -> None:
        """Show all inputs."""
        for opened in inputs:
            refuse_unfit(self.options, opened)
            refuse_unless(ROWS, self.options, ("sort", "top"), opened)
            self._use_view(opened, labelled=inputs.labelled)
            if opened.kind in BATCHES.kinds:
                self._show_batches(opened, several=inputs.several)
            elif opened.kind is Kind.REQUEST_LOG:
                self.logs.append(opened)
                self.decodable = True
                self._add_selection(empty=False)
            else:
                if self.view.HEADS and inputs.several and opened.name and not self.options.order:
                    self.environment.write_lines([[(f"{opened.name}:", "dim")]])
                if opened.kind is Kind.CAPTURE:
                    self._show_capture(opened)
                else:
                    self._show_messages(opened)
        if self.ordering:
            self._show_ordered(self.ordering.rows())
        if self.logs:
            self._show_logs()
        if self.batches:
            self.batches.end()
            self._add_selection(empty=self.batches.is_empty)
        for view in self._by_format.values():
            view.end()

    def _show_logs(self) -> None:
        """Show the requests of request logs as a table."""
        from kwire_cli.analysis.logged import logged_requests  # start-up counts

        several = len(self.logs) > 1
        logs = ((opened.label if several else None, opened.subjects()) for opened in self.logs)
        from kwire_cli.cli.emit import emit  # start-up counts

        emit(self.environment, logged_requests(logs), self.options)

    def _add_selection(self, *, empty: bool) -> None:
        """Record whether nothing of an input was selected. The run is empty only if all inputs are."""
        self.empty = empty and self.empty is not False

    def _show_batches(self, opened: Opened, *, several: bool) -> None:
        if self.batches is None:
            self.batches = self._new_batch_run(opened.how, several=several)
        self.batches.show_input(cast("LogInput", opened))  # the kind implies the class
        self.read.append((opened.label, opened.emptiness))
        self.decodable = self.decodable or self.batches.is_decodable
        self.anomalies = self.anomalies or self.batches.anomalous

    def _new_batch_run(self, how: Reading, *, several: bool) -> BatchRun:
        """Return a run of `kwire dump`, which shows the record batches and log files among the inputs."""
        from kwire_cli.cli import batch_views, batches  # start-up counts
        from kwire_cli.filter.rows import filter_of
        from kwire_cli.records.selection import Selection

        options = self.options
        if self.fmt not in batch_views.VIEWS:
            raise click.UsageError(f"--format {self.fmt} is for packet captures, and these are record batches")
        wanted = filter_of(options.catalog, options.filter, "either") if options.filter else None
        settings = batch_views.BatchSettings(
            view=batch_views.VIEWS[self.fmt],
            options=options,
            redaction=self.view.redaction,
            how=how,
            selection=Selection(filter=wanted),
            deep=options.records != "size",
            several=several,
        )
        return batches.BatchRun(self.environment, settings)

    def _show_capture(self, opened: Opened) -> None:
        from kwire_cli.cli.captures import ChosenLines, order_of_lines, refuse_unknown  # start-up counts

        options = self.options
        refuse_unknown(options.catalog, options.fields, options.order)
        if options.order and not self.ordering:
            self.ordering = Ordering(order_of_lines(options.order), options.top)
        limit = None if self.ordering else options.top
        lines = ChosenLines(opened, options, self.environment.interrupt, limit, strict=options.strict)
        with lines.watched(), nullcontext() if self.ordering else self._capture(whole=lines.is_whole):
            show = self._add_to_ordering if self.ordering else self._show_line
            for line in lines.pairs() if options.pairs else lines:
                show(line)
        lines.note()
        self.read.append((opened.label, opened.emptiness))
        self.decodable = self.decodable or lines.decodable
        self.anomalies = self.anomalies or (options.strict and lines.have_faults)
        self._add_selection(empty=lines.are_empty)

    @contextmanager
    def _capture(self, *, whole: bool) -> Iterator[None]:
        """Begin a capture, and end it even after an exception."""
        self.view.begin_capture(whole=whole)
        try:
            yield
        finally:
            self.view.end_capture()

    @property
    def _show_line(self) -> Callable[[Any], None]:
        """The function that shows a line, or with --pairs a request and its response."""
        return self.view.pair if self.options.pairs else self.view.show

    def _add_to_ordering(self, line: Captured | Pair) -> None:
        """Add a line, or a pair sorted by its response if present, and release its decoded values to save memory."""
        from kwire_cli.filter.rows import FrameRow  # start-up counts

        assert self.ordering is not None  # noqa: S101 - for the type checker
        last = line.halves[-1]
        self.ordering.add(line, FrameRow(last, self.view.redaction).shown(self.ordering.column))
        last.release()

    def _show_ordered(self, lines: list[Captured | Pair]) -> None:
        with self._capture(whole=True):
            show = self._show_line
            for line in lines:
                show(line)

    def _show_messages(self, opened: Opened) -> None:
        """Show frames or bodies outside of captures."""
        view = self.view
        if not view.FRAMES:
            text = (
                f"--format {self.fmt} is for {LISTED.what}, and {opened.label} is {opened.kind.what}: "
                "try --format tree or jsonl"
            )
            raise click.UsageError(text)
        self._add_selection(empty=False)
        for subject in opened.subjects():
            assert isinstance(subject, Frame | Decoded)  # noqa: S101 - for the type checker
            subject = self._guess_record(subject, opened.how)  # noqa: PLW2901 - the same bytes
            view.show(subject)
            if isinstance(subject, Frame) and not view.HEADS and (note := self._note_of_guess(subject)):
                self.environment.note(f"kwire: frame {subject.number}: {note}")
            self.decodable = self._is_decodable(subject, opened.how) or self.decodable
            self.anomalies = self.anomalies or (self.options.strict and self._is_anomalous(subject))
            self.environment.flush()

    def _guess_record(self, subject: Frame | Decoded, how: Reading) -> Frame | Decoded:
        """Replace a frame that is an unlikely guess by a key or value of an internal topic, if the bytes fit."""
        if not isinstance(subject, Frame) or not subject.guess or subject.counted or subject.likely:
            return subject
        if how.hints.api or how.hints.kind:
            return subject
        from kwire_cli.message.bodies import likeliest_record  # start-up counts

        found = likeliest_record(how.catalog, bytes(subject.data[subject.start : subject.stop]))
        if found is None:
            return subject
        topic, body = found
        text = f"the bytes fit {body.message} {body.version} of {topic}; --message {body.message} says it outright"
        self.environment.note(f"kwire: frame {subject.number}: {text}")
        return body

    def _note_of_guess(self, frame: Frame) -> str | None:
        """Return the note on the hidden values of a guess, which views for display have themselves."""
        return note_of_guess(frame, self.view.redaction.frame(frame)) if frame.guess else None

    def _is_anomalous(self, subject: Frame | Decoded) -> bool:
        from kwire_cli.message.record_notes import is_anomalous_message  # start-up counts

        return is_anomalous_message(subject, self.view.redaction.reading())

    def _is_decodable(self, subject: Frame | Decoded, how: Reading) -> bool:
        """Return whether any part of a message could be decoded. Note options that contradict the message."""
        if isinstance(subject, Frame):
            if subject.kind == "request" and subject.contradicts(how.hints):
                note = "is a request, and its header says so; --api and --message-version are for responses"
                self.environment.note(f"kwire: frame {subject.number} {note} (--kind response reads it as one)")
            # The layout of an unknown version is uncertain, so an empty body does not count as decoded.
            is_empty = subject.body is None or not subject.body.value
            return subject.kind != "unknown" and not (is_empty and how.unknown_version)
        try:
            checked(subject)
        except DecodeError as error:
            self.environment.note(f"kwire: {error}")
            return False
        return True
