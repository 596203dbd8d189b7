"""`kwire stats`: counts, sizes, latencies and errors of traffic, in total or over time."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import click

from kwire_cli.analysis.dimensions import DIMENSIONS
from kwire_cli.analysis.stats import GROUPS, Stats
from kwire_cli.analysis.subjects import TRAFFIC
from kwire_cli.analysis.timeline import BUSIEST, Timeline
from kwire_cli.answer import together
from kwire_cli.cli.captures import ChosenLines
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.inputs import FITS, Fit, Terminal, missing_names, reading_of, refuse_unfit
from kwire_cli.cli.live_stats import write_live, writes_live
from kwire_cli.cli.options import Captures, Choosing, Definitions, Report
from kwire_cli.cli.typed_options import Printing, argument, milliseconds_of, option, refuse, takes
from kwire_cli.engine.codes import REMARKS
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Follow, Read, nothing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.answer import Answer

EXAMPLES = (
    ("kwire stats incident.pcap --every 2s", "when it was slow and when it failed"),
    ("kwire stats incident.pcap --every 5s --by group", "the same for each consumer group"),
    ("kwire stats kafka-request.log --by software", "which software asks how much"),
)


class Counting(Protocol):
    """A fold over traffic that says what it counted besides its answer."""

    anomalies: Any

    def add(self, subject: Any, /) -> None:
        """Count a line of a capture, or an exchange or a damaged line of a request log."""

    def answer(self) -> Answer:
        """Return the counts."""
        raise NotImplementedError


Fold = TypeVar("Fold", bound=Counting)


@dataclass
class CountedTraffic(Generic[Fold]):
    """Folds over all request logs and over all captures, which may show the same requests and count apart.

    `has_logs` and `has_lines` say that there was anything to count, `is_anomalous` that there were anomalies or faults,
    and `is_empty` that the choice of lines left out everything.
    """

    of_logs: Fold
    of_lines: Fold
    has_logs: bool = False
    has_lines: bool = False
    is_empty: bool = False
    is_anomalous: bool = False

    def answer(self) -> Answer:
        """Return the answers, in one if there are both."""
        folds = {"request logs": self.of_logs} if self.has_logs else {}
        folds |= {"captures": self.of_lines} if self.has_lines or not self.has_logs else {}
        answers = {name: fold.answer() for name, fold in folds.items()}
        return together(next(iter(answers.values())).title, answers)


def count_traffic(
    environment: Environment,
    options: Any,
    source: Sequence[str],
    make: Callable[[], Fold],
    fits: Mapping[str, Fit] = FITS,
    limit: int | None = None,
) -> CountedTraffic[Fold]:
    """Count request logs and chosen lines of captures with folds that `make` makes.

    `options` are those of a command that chooses lines, perhaps with --show-secrets and --follow. Raises InputError if
    there is nothing to count, and UsageError for an option that does not go with an input, as `fits` says.
    """
    interrupt = environment.interrupt
    follow = Follow(stop=lambda: bool(interrupt)) if getattr(options, "follow", False) else None
    counted = CountedTraffic(make(), make())
    empty: bool | None = None
    decodable, read = False, Read()
    with ExitStack() as watched:
        for opened in open_inputs(source, reading_of(options, follow=follow), Terminal(environment)):
            refuse_unfit(options, opened, fits)
            if opened.kind not in TRAFFIC:
                what = f"this question is about packet captures and brokers' request logs, not about {opened.kind.what}"
                raise InputError(f"{missing_names(source)}{what}", file=opened.name)
            if opened.kind is Kind.REQUEST_LOG:
                decodable, empty = True, False
                for entry in opened.subjects():
                    counted.of_logs.add(entry)
                    counted.has_logs = True
                continue
            lines = ChosenLines(opened, options, interrupt, limit)
            watched.enter_context(lines.watched())
            for line in lines:
                counted.of_lines.add(line)
                counted.has_lines = True
            lines.note()
            decodable, counted.is_anomalous = decodable or lines.decodable, counted.is_anomalous or lines.have_faults
            empty = lines.are_empty and empty is not False
            read.append((opened.label, opened.emptiness))
    if not decodable:
        raise nothing_in(read, "line of a capture or of a request log")
    counted.is_empty = bool(empty)
    counted.is_anomalous |= not REMARKS.issuperset([*counted.of_logs.anomalies, *counted.of_lines.anomalies])
    return counted


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class Intervals(Printing):
    """Options for counting over time: --every."""

    SECTION: ClassVar[str] = "Choose"

    every: str | None = option(
        "--every", metavar="DURATION", help="Count by intervals of this length, such as 500ms, 10s or 1h."
    )


@dataclass(frozen=True, kw_only=True)
class Options(Report, Captures, Choosing, Intervals, Definitions):
    """Options of `kwire stats`."""

    SECTION: ClassVar[str] = "Choose"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    by: tuple[str, ...] = option(
        "--by",
        type=click.Choice(DIMENSIONS),
        multiple=True,
        help="Count by this dimension; repeatable.  [default: api, client, topic, broker; with --every all together]",
    )
    busiest: int | None = option(
        "--busiest",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"With --every, count all but the N busiest as (others).  [default: {BUSIEST}]",
    )

    def __post_init__(self) -> None:
        if self.every is None:
            refuse(self, ("busiest",), "goes with --every")

    @property
    def is_live(self) -> bool:
        """Return whether intervals may be shown as they come."""
        return self.every is not None and self.source in {(), ("-",)} and self.output is None

    def fold(self) -> Stats | Timeline:
        """Return the fold that counts what the options ask for."""
        if self.every is None:
            return Stats({kind: {} for kind in self._kinds or GROUPS})
        return self.timeline(self.every)

    def timeline(self, every: str) -> Timeline:
        """Return the fold that counts by intervals of a length."""
        return Timeline(milliseconds_of(every, "--every"), self._kinds, self.busiest or BUSIEST)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.by))


@click.command(name="stats", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Count requests, bytes, latencies and errors in captures and request logs.

    INPUT is packet captures and brokers' request logs, or - for standard input. There is a table for each
    dimension, such as api or client. With --every, each interval has its own counts. If a capture comes through
    a pipe, the counts of an interval are written when it is over.
    """
    options.fold()  # before anything is read
    with environment.answering():
        if options.every is not None and writes_live(environment, options):
            write_live(environment, options, partial(options.timeline, options.every))
            return Exit.DONE
        counted = count_traffic(environment, options, options.source, options.fold)
        return emit(environment, counted.answer(), options)
