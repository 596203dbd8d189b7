"""The reports of `kwire scan`: each says what the command for one machine says. A report is a function and a line of
`REPORTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from kwire_cli.analysis.costs.advice import SHOWN
from kwire_cli.answer import together
from kwire_cli.cli.capture_inputs import tell_of_logs
from kwire_cli.cli.clients import BESIDE
from kwire_cli.cli.completion import complete_api, complete_dimensions, complete_message, complete_release
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.old_options import MOST_ROWS, limits_of, naming_of
from kwire_cli.cli.options import Report as Emitted
from kwire_cli.cli.overhead import tables_of
from kwire_cli.errors import InputError
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.view.lines import counted as number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from kwire_cli.analysis.fold import Fold
    from kwire_cli.analysis.stats import Stats
    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.pipeline.parts import Faults


@dataclass
class Summary:
    """Amounts that a report looked at: files, bytes, rows, and the number of faults.

    An amount is None if it was not counted or is said already. `faults` counts what could not be read.
    """

    files: int | None = None
    size: int | None = None
    rows: int | None = None
    faults: int = 0


@dataclass(frozen=True)
class Asked:
    """Request for a report: inputs, output format, and the options of the command.

    `summary` takes the amounts that the report looked at.
    """

    environment: Environment
    spark: SparkSession
    name: str
    paths: tuple[str, ...]
    fmt: str
    options: dict[str, Any]
    summary: Summary


# Counting in tasks, and notes on what could not be read.


def of_captures(asked: Asked) -> dict[str, Any]:
    """Return the options for reading captures, as the pipeline takes them."""
    options, note = asked.options, asked.environment.note
    return {
        "port": options["port"],
        "key_logs": options["tls_keylog"],
        "naming": naming_of(options),
        "note": lambda text: note(f"kwire: {text}"),
    }


def counted(asked: Asked, make: Callable[[], Fold[Any]], how: str) -> list[Any]:
    """Return what was counted of request logs, and then of captures, each if anything of them could be read.

    Where there are both, a note says so, and by `how` how their answers stand beside each other.

    InputError where there is nothing to count, and with --fail-fast where something could not be read.
    """
    from kwire_cli.pipeline.parts import Faults
    from kwire_cli.pipeline.reports import count

    tallies = count(asked.spark, asked.paths, make, asked.options["catalog"], **of_captures(asked))
    faults = Faults()
    for tally in tallies:
        faults.merge(tally.faults)
    tell(asked, faults)
    read = [tally for tally in tallies if tally.lines]
    if len(tallies) > 1:
        tell_of_logs(asked.environment, tallies[0].files, how)
    if not read:
        raise InputError("no capture or request log in this could be read")
    summary = asked.summary
    summary.files, summary.size, summary.rows = (
        sum(len(tally.files) for tally in tallies),
        sum(tally.size for tally in tallies),
        sum(tally.lines for tally in read),
    )
    return [tally.fold for tally in read]


def tell(asked: Asked, faults: Faults) -> None:
    """Say what could not be read. InputError with --fail-fast, where there is anything."""
    asked.summary.faults = faults.count
    for fault in faults.first:
        if asked.options["fail_fast"]:
            raise InputError(fault.text, file=fault.file)
        asked.environment.note(f"kwire: {fault.file}: {fault.text}")
    if more := faults.count - len(faults.first):
        asked.environment.note(f"kwire: and {number_of(more, 'more fault')}")


def _advise(asked: Asked) -> int:
    """Show which encodings and tags would have paid for messages.

    The messages come from captures, request logs, and segments of Kafka's own topics.
    """
    from kwire_cli.analysis.costs.advice import drawn
    from kwire_cli.analysis.costs.advice_values import named
    from kwire_cli.cli.advise import APART, write
    from kwire_cli.pipeline.reports import Messages, Wanted

    options = asked.options
    catalog = options["catalog"]
    wanted = Wanted(catalog, named(catalog, options["messages"], options["apis"]), limits_of(options))
    messages = Messages(asked.spark, asked.paths, wanted, **of_captures(asked))
    if messages.left_out:
        tell_of_logs(asked.environment, messages.left_out, APART)
    looked = messages.seen()
    seen = looked.made
    tell(asked, looked.faults)
    if looked.left_out.text:
        asked.environment.note(f"kwire: {looked.left_out.text}")
    if not seen.messages:
        raise InputError("this holds no message that is certain, or none that --message and --api choose")
    summary = asked.summary
    summary.files, summary.size, summary.rows = messages.files, messages.size, seen.messages
    advice = drawn(catalog, seen, messages.priced, least=options["min_saving"], half=options["half"])
    if options["write_overlay"]:
        write(asked.environment, Path(options["write_overlay"]), advice)
    return _emit(asked, advice.answer(options["top"], options["histograms"]))


def _clients(asked: Asked) -> int:
    """Show the clients that speak to the brokers.

    With --to, show the clients that a newer release would refuse, and return 1 if there are any.
    """
    from kwire_cli.analysis.clients import Clients
    from kwire_cli.spec.accepted import accepted_by

    releases = asked.options["release"], asked.options["now"]
    for release in releases:
        if release:
            accepted_by(release)  # before anything is read
    first, *others = counted(asked, partial(Clients, *releases), BESIDE)
    for other in others:
        first.beside(other)
    return _emit(asked, first.answer())


def _emit(asked: Asked, answer: Answer) -> int:
    return emit(asked.environment, answer, Emitted(fmt=asked.fmt, raw_csv=asked.environment.raw_csv))


def _overhead(asked: Asked) -> int:
    """Show where the bytes of captures and segments go, by kind and by the groups of --by.

    The default groups are the api for captures, and topic and partition for segments.
    """
    from kwire_cli.analysis.costs.overhead_answer import Overhead
    from kwire_cli.cli.overhead import DEFAULTS, grouping
    from kwire_cli.pipeline.model import CAPTURES, SEGMENTS, numbered
    from kwire_cli.pipeline.reports import spent
    from kwire_cli.stores import sizes

    options = asked.options
    of_segments, of_captured = numbered(asked.paths, SEGMENTS, CAPTURES)
    segments, captures = [*of_segments], [*of_captured]
    tables = tables_of(options["by"]) or [*DEFAULTS["segments" if 0 in of_segments.values() else "capture"]]
    names = grouping(tables)
    found = spent(
        asked.spark, captures, segments, names, options["catalog"], limits=limits_of(options), **of_captures(asked)
    )
    tell(asked, found.faults)
    if not found.bytes.messages:
        raise InputError("no capture or segment in this could be read")
    file_bytes = found.file_bytes if captures else None
    overhead = Overhead(tables, found.bytes, file_bytes=file_bytes, only_files=not captures)
    limits: dict[str, int] | None = {} if options["limits"] else None
    summary = asked.summary
    summary.files, summary.size, summary.rows = (
        len(captures) + len(segments),
        found.file_bytes + sum(sizes(segments)),
        found.bytes.messages,
    )
    return _emit(asked, overhead.answer(top=options["top"], records=options["records"], limits=limits))


GROUPS = {"topics": ("topic",), "latency": ("api", "broker")}
"""What of the statistics a report shows, if not all."""


def _stats(asked: Asked) -> int:
    """Show the statistics of request logs, and of captures."""
    from kwire_cli.analysis.stats import Stats

    found: list[Stats] = counted(asked, Stats, "they are counted apart, request logs first")
    for stats in found:
        if asked.name in GROUPS:
            stats.groups = {kind: stats.groups[kind] for kind in GROUPS[asked.name]}
        elif asked.name == "errors":
            stats.groups = {
                kind: {key: group for key, group in groups.items() if group.errors}
                for kind, groups in stats.groups.items()
            }
    names = ["request logs", "captures"] if len(found) > 1 else [""]
    return _emit(
        asked, together("statistics", {name: stats.answer() for name, stats in zip(names, found, strict=True)})
    )


def _verify(asked: Asked) -> int:
    """The faults of log directories; 1 where there are any."""
    from kwire_cli.analysis.verify import Checked, verification
    from kwire_cli.cli.dump import verifiable
    from kwire_cli.pipeline.reports import verified

    checked = Checked()
    faults = verified(asked.spark, verifiable(asked.paths), checked, deep=asked.options["deep"])
    _emit(asked, verification(faults, checked))
    return Exit.FOUND if checked.faults else Exit.DONE


class Report(NamedTuple):
    """A report: the text that --help shows, and the function that prints the report and returns an exit code."""

    about: str
    show: Callable[[Asked], int]


REPORTS = {
    "advise": Report("which encodings and tags would have paid, as kwire advise", _advise),
    "clients": Report("who speaks to the brokers, as kwire clients", _clients),
    "errors": Report("the apis that answered with errors", _stats),
    "latency": Report("how long brokers took, by api and broker", _stats),
    "overhead": Report("where the bytes go, as kwire overhead", _overhead),
    "stats": Report("by api, client, topic and broker, as kwire decode --stats", _stats),
    "topics": Report("what went to and from each topic", _stats),
    "upgrade": Report("whom a newer release would refuse, as kwire clients --upgrade-to", _clients),
    "verify": Report("what is wrong in log directories, as kwire dump --verify", _verify),
}


# Options that go with some of the reports: those of the commands for one machine.

_OPTIONS: tuple[tuple[str, tuple[str, ...], Any], ...] = (
    (
        "release",
        ("upgrade",),
        click.option(
            "--to",
            "release",
            metavar="RELEASE",
            shell_complete=complete_release,
            help="Name the brokers' new release (upgrade).",
        ),
    ),
    (
        "now",
        ("upgrade",),
        click.option(
            "--from",
            "now",
            metavar="RELEASE",
            shell_complete=complete_release,
            help="Name the brokers' release today (upgrade).",
        ),
    ),
    ("deep", ("verify",), click.option("--deep", is_flag=True, help="Read the records too (verify).")),
    (
        "by",
        ("overhead",),
        click.option(
            "--by",
            multiple=True,
            metavar="A,B",
            shell_complete=complete_dimensions,
            help="Group bytes by these; repeatable, a table each (overhead).",
        ),
    ),
    (
        "records",
        ("overhead",),
        click.option("--records/--no-records", default=True, help="Show what records and batches cost (overhead)."),
    ),
    (
        "limits",
        ("overhead",),
        click.option(
            "--limits/--no-limits",
            default=True,
            help="Show how far the largest items are from their limits (overhead).",
        ),
    ),
    (
        "top",
        ("overhead", "advise"),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Show at most this many rows of each table (overhead, advise).  [default: {MOST_ROWS}, {SHOWN}; in "
            f"json all]",
        ),
    ),
    (
        "messages",
        ("advise",),
        click.option(
            "--message",
            "-m",
            "messages",
            multiple=True,
            metavar="NAME",
            shell_complete=complete_message,
            help="Count only these messages (advise).",
        ),
    ),
    (
        "apis",
        ("advise",),
        click.option(
            "--api",
            "apis",
            multiple=True,
            metavar="NAME|KEY",
            shell_complete=complete_api,
            help="Count only messages of these apis (advise).",
        ),
    ),
    (
        "min_saving",
        ("advise",),
        click.option(
            "--min-saving",
            type=click.IntRange(min=1),
            default=1,
            metavar="BYTES",
            help="Put only changes that save at least this many bytes into the overlay (advise).",
        ),
    ),
    (
        "half",
        ("advise",),
        click.option("--half", is_flag=True, help="Derive the overlay from the first half of the messages (advise)."),
    ),
    (
        "histograms",
        ("advise",),
        click.option(
            "--histograms",
            type=click.IntRange(min=0),
            default=3,
            metavar="N",
            help="Draw histograms of this many integer fields (advise).",
        ),
    ),
    (
        "write_overlay",
        ("advise",),
        click.option(
            "--write-overlay",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Write the changes that pay as an overlay (advise).",
        ),
    ),
)
"""What a command calls an option, the reports that it goes with, and the option."""


def of_reports(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them."""
    for _, _, option in reversed(_OPTIONS):
        command = option(command)
    return command


def check(options: dict[str, Any]) -> None:
    """UsageError for one that was given without a report that it goes with, for tables by what there is not, and for an
    upgrade to nowhere.
    """
    context = click.get_current_context()
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name, reports, _ in _OPTIONS:
        if options["report"] not in reports and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{flags[name]} goes with --report {' and '.join(reports)}")
    tables_of(options["by"])
    if options["report"] == "upgrade" and not options["release"]:
        raise click.UsageError(f"--report upgrade needs --to RELEASE, such as --to {RELEASE}")
