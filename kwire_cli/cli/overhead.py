"""The command `kwire overhead`: where the bytes go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.analysis.costs.advice_values import in_batches
from kwire_cli.analysis.costs.batching import BATCH_SIZES, LINGERS, Accumulators, Setting
from kwire_cli.analysis.costs.measures import DIMENSIONS, NAMES, OF_MESSAGE
from kwire_cli.analysis.costs.overhead_answer import Overhead
from kwire_cli.analysis.costs.overlaid import Overlaid
from kwire_cli.analysis.costs.tallies import Loose, Tallies
from kwire_cli.answer import MOST_ROWS
from kwire_cli.cli.capture_inputs import STANDARD_INPUT, CapturePoints, capture_lines, chosen, name_of
from kwire_cli.cli.completion import complete_dimensions, complete_file, complete_message, complete_version
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Exit, Progress
from kwire_cli.cli.inputs import bodies_of, frames_of, inputs
from kwire_cli.cli.numbers import size_of
from kwire_cli.cli.old_options import said
from kwire_cli.cli.options import (
    Captures,
    Choosing,
    Decompression,
    Frames,
    Report,
    WhatIf,
    argument,
    flag,
    option,
    refuse,
    takes,
)
from kwire_cli.cli.segments import note_links, segment_files
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.decoded import checked
from kwire_cli.records.formats import CHOICES
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.kinds import Kind
from kwire_cli.stores import path_text, sizes

if TYPE_CHECKING:
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.source.text.reading import Input

CHOICE = ("filter", "frames", "stream", "port")
"""Options that choose among the frames of a capture."""
OF_CAPTURES = (*CHOICE, "tls_keylog")
NO_CAPTURE = "is for packet captures, and this input is not one"
DEFAULTS = {
    "capture": (("api",), ("kind",)),
    "frames": (("field",), ("kind",)),
    "segments": (("topic", "partition"), ("kind",)),
}
"""The tables of bytes without --by, by the kind of the first input."""
MOST_SETTINGS = 200
LONGEST_LINGER = LARGEST_BATCH = 2147483647
"""The largest numbers of Kafka's types for linger.ms and batch.size."""


@dataclass(frozen=True, kw_only=True)
class Options(Report, Frames, Choosing, Captures, Decompression, WhatIf):
    """Options of `kwire overhead`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        metavar="A,B",
        shell_complete=complete_dimensions,
        help="Group bytes by api, message, version, client, topic, partition, broker, stream, file, field, "
        "kind; repeatable.",
    )
    top: int | None = option(
        "--top",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Show at most this many rows of a table.  [default: {MOST_ROWS} for a person, all for a program]",
    )
    records: bool = option(
        "--records/--no-records", default=True, help="Show what records and batches cost.  [default: shown]"
    )
    limits_shown: bool = option(
        "--limits/--no-limits",
        default=True,
        help="Show how far the largest items are from their limits.  [default: shown]",
    )
    limit: tuple[str, ...] = option(
        "--limit",
        multiple=True,
        metavar="NAME=BYTES",
        help="Set a limit, such as message.max.bytes=10MiB; repeatable.  [default: Kafka's]",
    )
    batching: bool = flag("--batching", help="Try values of linger.ms and batch.size on the records' times.")
    linger: str | None = option("--linger", metavar="MS,MS", help="Try these values of linger.ms (--batching).")
    batch_sizes: str | None = option(
        "--batch-size", metavar="BYTES,BYTES", help="Try these values of batch.size (--batching)."
    )
    message: str | None = option(
        "--message",
        "-m",
        metavar="NAME",
        shell_complete=complete_message,
        help="Read the input as a bare body of this message (with --version).",
    )
    version: int | None = option(
        "--version",
        "-n",
        type=click.IntRange(0, 32767),
        metavar="N",
        shell_complete=complete_version,
        help="Set the version of the message or api.",
    )
    exit_code: bool = flag("--exit-code", help="Exit with 1 if nothing matches what was chosen.")
    topics: tuple[str, ...] = option(
        "--topic", multiple=True, metavar="NAME", help="Show only partitions of this topic (folders); repeatable."
    )
    record_format: str | None = option(
        "--record-format", type=click.Choice(CHOICES), help="Read the input as a record set of this format."
    )
    verbose: bool = flag(
        "-v", "--verbose", help="Say how the input was recognised, and which folder links were followed."
    )


@click.command(name="overhead")
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Show where the bytes of messages, captures, record sets and log directories go.

    INPUT is what decode and dump take: captures, frames or bodies in any form, segments, folders of a log
    directory, or - for standard input. The tables account for every byte of the input, by field and by kind:
    values, length prefixes, counts, tags, headers, batch headers, record framing.
    """
    limits = limits_of(options.limit)
    overhead = Counting(environment, options).count()
    shown = limits if options.limits_shown else None
    emit(environment, overhead.answer(top=options.top, records=options.records, limits=shown), options)
    choosing = options.filter or options.frames or options.stream
    return Exit.FOUND if options.exit_code and choosing and not overhead.tallies.messages else Exit.DONE


def tables_of(by: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the dimensions of each table of --by. Raises UsageError for an unknown dimension."""
    tables = []
    for text in by:
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
        if strange := [name for name in names if name not in DIMENSIONS]:
            raise click.UsageError(
                f"--by {strange[0]}: bytes are grouped by {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}"
            )
        tables.append(names)
    return tables


def grouping(tables: list[tuple[str, ...]]) -> list[str]:
    """Return the dimensions of messages that these tables need."""
    return [name for name in OF_MESSAGE if any(name in table for table in tables)]


def limits_of(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the limits of --limit by name. Raises UsageError for an unknown name or a malformed size."""
    limits = {}
    for text in texts:
        name, mark, size = text.partition("=")
        if not mark or name.strip() not in NAMES:
            raise click.UsageError(f"--limit {text}: it takes NAME=BYTES, of {', '.join(NAMES)}")
        limits[name.strip()] = size_of(size, f"--limit {name.strip()}")
    return limits


def _accumulators(options: Options) -> Accumulators | None:
    """Return the accumulators for --linger and --batch-size; None if nothing is to be tried.

    Raises UsageError if a value is not a valid number, or if there are more than MOST_SETTINGS pairs.
    """
    if not (options.batching or options.linger or options.batch_sizes):
        return None
    lingers = {_linger(text) for text in options.linger.split(",")} if options.linger else {*LINGERS}
    sizes = {_batch_size(text) for text in options.batch_sizes.split(",")} if options.batch_sizes else {*BATCH_SIZES}
    settings = [Setting(linger, size) for linger in sorted(lingers) for size in sorted(sizes)]
    if len(settings) > MOST_SETTINGS:
        raise click.UsageError(
            f"--linger and --batch-size make {len(settings)} pairs; {MOST_SETTINGS} are the most allowed"
        )
    return Accumulators(settings)


def _linger(text: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text) > len(str(LONGEST_LINGER)) or int(text) > LONGEST_LINGER:
        raise click.UsageError(f"--linger takes milliseconds, such as 0,5,20, not {text!r}")
    return int(text)


def _batch_size(text: str) -> int:
    size = size_of(text, "--batch-size")
    if size > LARGEST_BATCH:
        raise click.UsageError(f"--batch-size {text.strip()}: batch.size can be at most {LARGEST_BATCH}")
    return size


class Counting:
    """Counts the inputs of a command line, in whatever order they are given."""

    def __init__(self, environment: Environment, options: Options) -> None:
        self.environment, self.options = environment, options
        self.progress = Progress(environment)
        self.decodable = False
        self._tables = tables_of(options.by)
        self._overhead: Overhead | None = None

    def count(self) -> Overhead:
        """Return what all inputs came to.

        Raises InputError if an input cannot be read, or if there is nothing that can be counted.
        """
        options = self.options
        if options.record_format:
            why = "is for messages, and --record-format says that the input is a record set"
            refuse(options, ("message", "version", "api", "framed"), why)
        says = Kind.BATCHES if options.record_format else said(vars(options))
        grouped = () if options.message or options.form != "auto" else options.source
        points = CapturePoints(self.environment, grouped, vars(options))
        for content in inputs(
            self.environment, options.source, options.form, catalog=options.catalog, says=says, verbose=options.verbose
        ):
            if content.kind in {Kind.BATCHES, Kind.FOLDER}:
                self._segments(content)
                continue
            why = "is for folders of a log directory; --filter 'topic == NAME' chooses frames of captures"
            refuse(options, ("topics",), why)
            if content.kind is Kind.CAPTURE:
                self._capture(content, points.take(content.source))
            else:
                self._frames(content, content.frames)
        self.progress.done()
        if self._overhead is None or not self.decodable:
            raise InputError(
                "there is nothing to count: say what it is with --api and --version or --message and --version, or "
                "how it is written with --input"
            )
        return self._overhead

    def _of(self, kind: str, name: str | None) -> Overhead:
        """Return where the bytes of the input of this name are counted. The first input decides on the tables."""
        overhead = self._overhead
        if overhead is None:
            overhead = self._overhead = self._begun(self._tables or [*DEFAULTS[kind]])
        overhead.only_files = overhead.only_files and kind == "segments"
        overhead.tallies.file = name
        overhead.tallies.largest.turn_to({"file": name} if len(self.options.source) > 1 and name else {})
        return overhead

    def _begun(self, tables: list[tuple[str, ...]]) -> Overhead:
        options = self.options
        accumulators, names = _accumulators(options), grouping(tables)
        on_records = accumulators.add if accumulators else None
        tallies = Tallies(options.catalog, names, limits=options.limits, on_records=on_records)
        written = None
        if options.laid:
            tallies.overlaid = Overlaid(options.catalog, options.laid)
            written = Tallies(options.catalog, names, limits=options.limits)
        return Overhead(tables, tallies, written, accumulators, only_files=True)

    def _add(self, overhead: Overhead, subject: Any, place: str) -> None:
        """Count a line of a capture, or what has the same properties.

        Raises InputError with the place if the overlay has no room for a value.
        """
        try:
            overhead.tallies.add(subject)
        except EncodeError as error:
            raise InputError(f"{place}: {error}") from None
        if overhead.written:
            overhead.written.file = overhead.tallies.file
            overhead.written.add(subject)

    def _segments(self, content: Recognised) -> None:
        options = self.options
        refuse(options, OF_CAPTURES, NO_CAPTURE)
        if options.verbose and content.name:
            note_links(self.environment, (content.name,))
        for file in segment_files(content):
            if options.topics and file.topic not in options.topics:
                continue
            view = file.view
            overhead = self._of("segments", file.label)
            self.decodable = True
            form = options.record_format or "auto"
            for at in overhead.tallies.records(view, file.topic, file.partition, form):
                self.progress.tell(file.label, at, len(view))
            if overhead.written:
                self._messages_in_records(overhead, overhead.written, view, file)
        if self._overhead is None:
            raise InputError("there is no partition of this topic", file=content.label)

    def _messages_in_records(self, overhead: Overhead, written: Tallies, view: memoryview, file: SegmentFile) -> None:
        """Count Kafka's own messages in records as they would be under the overlay.

        The records around the messages stay as they are.
        """
        form, overlaid = self.options.record_format or "auto", overhead.tallies.overlaid
        written.file = overhead.tallies.file
        for _ in written.records(view, file.topic, file.partition, form):
            pass
        for message in in_batches(items(source_of(view, topic=file.topic, catalog=self.options.catalog, form=form))):
            try:
                if overlaid:
                    overlaid.spans(message.name, message.version, message.entry, message.spans, guess=message.guess)
            except EncodeError as error:
                raise InputError(str(error), file=file.label) from None

    def _capture(self, content: Recognised, source: Any) -> None:
        """Count a capture, or all files of its capture point; None for a file whose point was counted before."""
        if source is None:
            return
        options = self.options
        point = name_of(source)
        overhead = self._of("capture", point or (content.name and path_text(content.name)))
        files = [source] if isinstance(source, str) else [] if point is None or source.live else source.point.files
        name = point or (path_text(source) if files else STANDARD_INPUT)
        lines = capture_lines(
            self.environment, options.catalog, source, name=name, port=options.port, key_logs=options.tls_keylog
        )
        tallies, add, before = overhead.tallies, overhead.tallies.add, overhead.tallies.messages
        for line in chosen(lines, options.catalog, vars(options) | {"limit": None}):
            if point is not None and (own := line.where.file) != tallies.file:
                tallies.file, tallies.largest.place = own, {"file": own}
            if overhead.written:
                self._add(overhead, line, f"{name}: frame {line.number}")
            else:
                add(line)
        choosing = any(getattr(options, name) for name in CHOICE)
        self.decodable = self.decodable or tallies.messages > before or choosing
        overhead.file_bytes = (overhead.file_bytes or 0) + sum(sizes(files))

    def _frames(self, content: Recognised, text: Input) -> None:
        options = self.options
        refuse(options, OF_CAPTURES, NO_CAPTURE)
        overhead = self._of("frames", content.name)
        label = content.name or "input"
        if options.message:
            for number, body in enumerate(bodies_of(options.catalog, text, vars(options)), 1):
                self._add(overhead, Loose(None, checked(body), number), f"{label}: body {number}")
                self.decodable = True
            return
        for frame in frames_of(options.catalog, text, vars(options)):
            self._add(overhead, Loose(frame, frame.body, frame.number), f"{label}: frame {frame.number}")
            self.decodable = self.decodable or frame.kind != "unknown"
            if frame.guess:
                self.environment.note(
                    f"kwire: frame {frame.number} was taken for {frame.api} {frame.kind} {frame.api_version} by its "
                    "bytes alone; --api and --version say what it is"
                )
