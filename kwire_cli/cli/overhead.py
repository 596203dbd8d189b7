"""The command `kwire overhead`: the bytes of inputs by field, api, client or topic.

`Counting` adds the frames, bodies, captures and segments of all inputs to one `Overhead`, which counts every byte once.
The first input selects the default tables.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, cast

import click

from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_dimensions, complete_file
from kwire_cli.cli.emit import emit
from kwire_cli.cli.fits import BATCHES, refuse_unfit
from kwire_cli.cli.inputs import Terminal, not_understood, reading_of
from kwire_cli.cli.options import (
    Captures,
    Choosing,
    Decompression,
    Definitions,
    Messages,
    RecordSets,
    Tables,
)
from kwire_cli.cli.typed_options import argument, option, size_of, takes
from kwire_cli.facts.costs.columns import DIMENSIONS, owners_of
from kwire_cli.facts.costs.counting import Costs, number_of
from kwire_cli.facts.costs.limits import NAMES
from kwire_cli.message.decoded import Decoded, checked
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import READABLE, open_inputs
from kwire_cli.source.reading import Read, empty_inputs
from kwire_cli.stores.paths import sizes

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.facts.costs.subjects import Message
    from kwire_cli.source.capture_inputs import CaptureInput
    from kwire_cli.source.log_inputs import LogInput
    from kwire_cli.source.reading import Opened

_TAKES = READABLE - {Kind.REQUEST_LOG, Kind.LOG_FILE}
DEFAULTS = {
    "capture": (("api",), ("kind",)),
    "frames": (("field",), ("kind",)),
    "segments": (("topic", "partition"), ("kind",)),
}
"""The default tables, by the kind of the first input."""


EXAMPLES = (
    ("kwire overhead incident.pcap --by api --top 5 --records size", "which apis the bytes go to"),
    ("kwire overhead orders-0 --by kind --records size", "what of a segment is not data"),
    ("kwire overhead produce.hex --by field --top 5 --records size", "the fields that take most"),
)


class Options(Choosing, Tables, Messages, Captures, RecordSets, Decompression, Definitions):
    """Options of `kwire overhead`."""

    SECTION: ClassVar[str] = "Choose"
    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        metavar="A,B",
        shell_complete=complete_dimensions,
        help="Group bytes by api, client, topic, partition, field, kind and more.",
    )
    records: str = option(
        "--records",
        type=click.Choice(["decoded", "size"]),
        default="decoded",
        help="Show what records and batches cost, or their size alone.",
    )
    limits_shown: bool = option(
        "--limits/--no-limits",
        default=True,
        help="Show how far the largest items are from Kafka's limits.",
    )
    kafka_limits: tuple[str, ...] = option(
        "--kafka-limit",
        multiple=True,
        metavar="NAME=BYTES",
        help="Set a limit of Kafka's, such as message.max.bytes=10MiB; repeatable.",
    )

    @property
    def cuts_tables(self) -> bool:
        """Return whether the tables of the answer have no more than --top rows."""
        return True


@click.command(name="overhead", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Show where the bytes of messages, captures, record sets and log directories go.

    INPUT is what decode and dump take: captures, messages in any form, segments, log directories, or - for
    standard input. The tables account for every byte of the input.
    """
    limits = limits_of(options.kafka_limits)
    shown = limits if options.limits_shown else None
    with environment.answering():
        overhead = Counting(environment, options).count()
        answer = overhead.answer(top=options.top, records=options.records == "decoded", limits=shown)
        return emit(environment, answer, options)


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


def limits_of(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the limits of --kafka-limit by name. Raises UsageError for an unknown name or a malformed size."""
    limits = {}
    for text in texts:
        name, mark, size = text.partition("=")
        if not mark or name.strip() not in NAMES:
            raise click.UsageError(
                f"--kafka-limit {text}: it takes NAME=BYTES, of {', '.join(NAMES)}; --top N cuts tables"
            )
        limits[name.strip()] = size_of(size, f"--kafka-limit {name.strip()}")
    return limits


class Counting:
    """Counter of the bytes of all inputs of a command line."""

    def __init__(self, environment: Environment, options: Options) -> None:
        self.environment = environment
        self.options = options
        self.decodable = self.several = False
        self._bodies = 0
        self._tables = tables_of(options.by)
        self._overhead: Overhead | None = None

    def count(self) -> Overhead:
        """Read all inputs and return their bytes.

        Raises InputError if an input cannot be read, or if there are no bytes to count.
        """
        options = self.options
        choice = Choice(options, options.catalog)
        inputs = open_inputs(options.source, reading_of(options), Terminal(self.environment), takes=_TAKES)
        self.several = inputs.several
        read = Read()
        for opened in inputs:
            refuse_unfit(options, opened)
            if opened.kind in BATCHES.kinds:
                self._count_segments(cast("LogInput", opened))  # the kind implies the class
            elif opened.kind is Kind.CAPTURE:
                self._count_capture(cast("CaptureInput", opened), choice)
            else:
                self._count_messages(opened)
            read.append((opened.label, opened.emptiness))
        if self._overhead is None or not self.decodable:
            raise empty_inputs(read) or not_understood("there is nothing to count", options.source)
        return self._overhead

    def _begin_input(self, kind: str, name: str | None) -> Overhead:
        """Return the overhead, set to count the input with this name. The first input selects the default tables."""
        overhead = self._overhead
        if overhead is None:
            options = self.options
            tables = self._tables or list(DEFAULTS[kind])
            owners = owners_of(list(chain.from_iterable(tables)))
            costs = Costs(options.catalog, owners, options.limits, named=self._message_number)
            overhead = self._overhead = Overhead(tables, costs, only_files=True)
        overhead.only_files = overhead.only_files and kind == "segments"
        overhead.costs.file = name
        overhead.costs.largest.turn_to({"file": name} if self.several and name else {})
        return overhead

    def _message_number(self, subject: Message) -> dict[str, Any]:
        """Return the number of a message in its input, which identifies it."""
        return {"frame": self._bodies} if isinstance(subject, Decoded) else number_of(subject)

    def _count_segments(self, opened: LogInput) -> None:
        options = self.options
        for file in opened.files():
            topic = options.as_topic or file.topic
            content = file.content
            overhead = self._begin_input("segments", file.label)
            self.decodable = self.decodable or len(content) > 0
            form = options.record_format or "auto"
            for at in overhead.costs.records(content, topic, file.partition, form):
                opened.caller.progress(file.label, at, len(content))
                if opened.caller.stopped:
                    break
            if opened.caller.stopped:
                break
        opened.caller.done()

    def _count_capture(self, opened: CaptureInput, choice: Choice) -> None:
        """Count a capture, or all files of a capture point."""
        overhead = self._begin_input("capture", opened.name)
        costs = overhead.costs
        add = costs.add
        before = costs.messages
        for line in choice.among(opened.subjects()):
            if opened.point is not None and (file := line.where.file) != costs.file:
                costs.file = file
                costs.largest.place = {"file": file}
            add(line)
        chosen = choice.chooses or self.options.port is not None
        self.decodable = self.decodable or costs.messages > before or chosen
        overhead.file_bytes = (overhead.file_bytes or 0) + sum(sizes(opened.files))

    def _count_messages(self, opened: Opened) -> None:
        """Count frames, or bodies without frames."""
        costs = self._begin_input("frames", opened.name).costs
        self._bodies = 0
        for subject in opened.subjects():
            if isinstance(subject, Decoded):
                self._bodies += 1
                costs.add(checked(subject))
                self.decodable = True
                continue
            costs.add(subject)
            self.decodable = self.decodable or subject.kind != "unknown"
            if subject.guess:
                opened.caller.note(
                    f"frame {subject.number} was taken for {subject.api} {subject.kind} {subject.api_version} by its "
                    "bytes alone; --api and --message-version say what it is"
                )
