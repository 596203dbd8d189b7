"""`kwire stats`: counts, sizes, latencies and errors of traffic, in total or over time.

A `Stats` or, with --every, a `Timeline` counts the lines of all inputs. With --every and a pipe, intervals are written
when they end, because a pipe may never end.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.stats import DIMENSIONS, GROUPS, Stats
from kwire_cli.analysis.subjects import LAKES, TRAFFIC, add_kind
from kwire_cli.analysis.timeline import BUSIEST, Timeline
from kwire_cli.cli.capture_inputs import chooses
from kwire_cli.cli.captures import ChosenLines
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.fits import CAPTURES_AND_LAKES, refuse_unfit
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of
from kwire_cli.cli.live_stats import Reported, write_live, writes_live
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.options import filter_option
from kwire_cli.cli.questions import ask_with_spark
from kwire_cli.cli.typed_options import milliseconds_of, option, refuse, takes
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import LakeInput, open_inputs
from kwire_cli.source.reading import Read, nothing_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.answer import Answer

EXAMPLES = (
    ("kwire stats incident.pcap --every 2s", "when it was slow and when it failed"),
    ("kwire stats incident.pcap --every 5s --by group", "the same for each consumer group"),
    ("kwire stats kafka-request.log --by software", "which software asks how much"),
)


class Options(Reported, OnSpark):
    """Options of `kwire stats`."""

    SECTION: ClassVar[str] = "Choose"

    filter: str | None = filter_option(
        "Count only frames that match, such as 'api == Fetch' (captures, lakes).", fits=CAPTURES_AND_LAKES, shared=True
    )
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
    every: str | None = option(
        "--every", metavar="DURATION", help="Count by intervals of this length, such as 500ms, 10s or 1h."
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        super().check()
        if self.every is None:
            refuse(self, ("busiest",), "goes with --every")
        if self.master is not None:
            refuse(self, ("filter",), "does not go with --master")

    @property
    def is_live(self) -> bool:
        """Return whether intervals may be shown as they end."""
        return self.every is not None and self.source in {(), ("-",)} and self.output is None

    def counter(self) -> Callable[[Redaction], Stats | Timeline]:
        """Return the function that makes a counter for the options."""
        if self.every is None:
            return partial(Stats, kinds=self.by or GROUPS)
        return self.timeline(self.every)

    def timeline(self, every: str) -> Callable[[Redaction], Timeline]:
        """Return the function that makes a counter with intervals of this length."""
        return partial(Timeline, every=milliseconds_of(every), kinds=self.by, busiest=self.busiest or BUSIEST)


@click.command(name="stats", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Count requests, bytes, latencies and errors in captures, request logs and lakes.

    INPUT is packet captures, brokers' request logs and lakes, or - for standard input. There is a table for each
    dimension, such as api or client. With --every, each interval has its own counts. If a capture comes through
    a pipe, the counts of an interval are written when it is over.
    """
    begin = options.counter()  # before anything is read
    redaction = Redaction(options.catalog)
    with environment.answering():
        if options.every is not None and options.is_live and writes_live(environment, options):
            write_live(environment, options, options.timeline(options.every)(redaction))
            return Exit.DONE
        if options.master is not None:
            return emit(environment, ask_with_spark(environment, options, begin, takes=TRAFFIC | LAKES), options)
        return emit(environment, _count_inputs(environment, options, begin(redaction)), options)


def _count_inputs(environment: Environment, options: Options, counts: Stats | Timeline) -> Answer:
    """Count request logs, or the selected lines of captures.

    Raise InputError if there is nothing to count, and UsageError for an option that does not go with an input.
    """
    kinds: set[Kind] = set()
    is_decodable = False
    read: Read = []
    for opened in open_inputs(options.source, reading_of(options), Terminal(environment)):
        refuse_unfit(options, opened)
        if opened.kind not in TRAFFIC | LAKES:
            what = (
                f"this question is about packet captures, brokers' request logs and lakes, not about {opened.kind.what}"
            )
            raise InputError(f"{missing_names(options.source)}{what}", file=opened.name)
        add_kind(kinds, opened)
        if isinstance(opened, LakeInput) and options.filter:
            from kwire_cli.filter.rows import lake_choice  # start-up counts

            opened.choice = lake_choice(options.catalog, options.filter)
        if opened.kind is not Kind.CAPTURE:
            counts.add_input(opened)
            is_decodable = True
            continue
        if not chooses(options) and counts.begin(opened):
            is_decodable = True
            continue
        lines = ChosenLines(opened, options, environment.interrupt)
        for line in lines:
            counts.add(line)
        lines.note()
        is_decodable = is_decodable or lines.decodable
        read.append((opened.label, opened.emptiness))
    if not is_decodable:
        raise nothing_in(read, "line of a capture or of a request log")
    return counts.answer()
