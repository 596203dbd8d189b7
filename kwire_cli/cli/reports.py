"""The reports of `kwire scan`: each runs the fold of a command for one machine in tasks.

A report is a line of `REPORTS`.

Whatever needs Spark is imported where a report runs: `kwire scan --help` works without Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import click

from kwire_cli.analysis.costs.advice import drawn
from kwire_cli.analysis.costs.advice_values import named
from kwire_cli.analysis.costs.overhead_answer import Overhead
from kwire_cli.analysis.costs.tallies import Tallies
from kwire_cli.analysis.state.answer import state_answer
from kwire_cli.analysis.state.lag import find_logs
from kwire_cli.cli.capture_inputs import tell_of_logs
from kwire_cli.cli.compare_advice import APART, Advising, write
from kwire_cli.cli.completers import complete_api, complete_message
from kwire_cli.cli.dump import verifiable
from kwire_cli.cli.options import Top, record_format_option
from kwire_cli.cli.overhead import DEFAULTS, Tables, grouping, tables_of
from kwire_cli.cli.typed_options import Printing, flag, given, option
from kwire_cli.errors import InputError, counted as number_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.model import CAPTURES, SEGMENTS, numbered
from kwire_cli.records.formats import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.pipeline.model import Faults
    from kwire_cli.pipeline.reports import Counted, Inputs
    from kwire_cli.records.codecs import Limits
    from kwire_cli.spec.catalog import Catalog


# Options that go with some of the reports. Those of overhead and advise are declared by the commands for one machine.


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class Verifying(Printing):
    """Options of --report verify."""

    SECTION: ClassVar[str] = "Choose"

    deep: bool = flag("--deep", rare=True, help="Read the records too.")
    record_format: str | None = record_format_option()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class AdvisedMessages(Printing):
    """The messages of --report advise."""

    SECTION: ClassVar[str] = "Choose"

    messages: tuple[str, ...] = option(
        "--message",
        "-m",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_message,
        help="Count only these messages; repeatable.",
    )
    apis: tuple[str, ...] = option(
        "--api",
        multiple=True,
        metavar="NAME|KEY",
        shell_complete=complete_api,
        help="Count only requests and responses of these apis; repeatable.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class ReportOptions(Verifying, Tables, Top, AdvisedMessages, Advising):
    """The options of all reports. --help says which reports each of them goes with.

    Options that commands for one machine declare are listed in their help, and in that of scan under --help-all.
    """

    report: str | None = None

    @classmethod
    def settings_for(cls, group: type[Printing], settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an option: behind its text stand the reports that it goes with."""
        reports = [] if group is Top else _reports_with(group)
        if not reports:
            return settings
        said, default, rest = settings["help"].partition("  [")
        text = f"{said.removesuffix('.')} ({', '.join(reports)}).{default}{rest}"
        return settings | {"help": text, "rare": settings.get("rare", False) or group is not Verifying}


def _reports_with(group: type[Printing]) -> list[str]:
    """Return the names of the reports that a group of options goes with."""
    return [name for name, report in REPORTS.items() if group in (*report.options, Top)]


def check(options: ReportOptions) -> None:
    """Raise UsageError for an option without a report that it goes with, and for malformed ones."""
    for group in ReportOptions.__bases__:
        reports = _reports_with(group)
        unfit = given(options, *group.__annotations__) if options.report not in reports else []
        if unfit:
            raise click.UsageError(f"{unfit[0]} goes with --report {' and '.join(reports)}")
    tables_of(options.by)


# Reports at work.


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
class Run:
    """A run of a report over inputs. `summary` takes the amounts that the report looked at. With `fail_fast` the first
    fault is an error.
    """

    environment: Environment
    inputs: Inputs
    limits: Limits
    options: ReportOptions
    fail_fast: bool = False
    summary: Summary = field(default_factory=Summary)

    @property
    def catalog(self) -> Catalog:
        """The definitions."""
        return self.inputs.catalog

    def sum_up(self, *several: Counted) -> None:
        """Add how much was read. Say what could not be read; with --fail-fast raise InputError for the first."""
        summary = self.summary
        summary.files = (summary.files or 0) + sum(len(counted.files) for counted in several)
        summary.size = (summary.size or 0) + sum(counted.size for counted in several)
        summary.rows = (summary.rows or 0) + sum(counted.subjects for counted in several)
        faults = several[0].faults
        for counted in several[1:]:
            faults.merge(counted.faults)
        self._tell(faults)

    def _tell(self, faults: Faults) -> None:
        self.summary.faults += faults.count
        for fault in faults.first:
            if self.fail_fast:
                raise InputError(fault.text, file=fault.file)
            self.environment.note(f"kwire: {fault.file}: {fault.text}")
        if more := faults.count - len(faults.first):
            self.environment.note(f"kwire: and {number_of(more, 'more fault')}")


def on_spark() -> Any:
    """Return the module that runs folds in tasks: it needs Spark."""
    from kwire_cli.pipeline import reports

    return reports


def _state(run: Run) -> Answer:
    counted, files = on_spark().states(run.inputs)
    run.sum_up(counted)
    topics = counted.by.topics()
    if not topics:
        raise InputError("no log of Kafka's own topics in this could be read")
    return state_answer(topics, hide=Redaction(run.catalog).record, beside=find_logs(files, topics))


def _overhead(run: Run) -> Answer:
    """Return where the bytes of captures and segments go, by default by api, or by topic and partition of segments."""
    options = run.options
    segments, captures = numbered(run.inputs.paths, SEGMENTS, CAPTURES)
    tables = tables_of(options.by) or [*DEFAULTS["segments" if 0 in segments.values() else "capture"]]
    make = partial(_spending, run.catalog, tables, run.limits)
    counted = on_spark().overhead(run.inputs, make, [*captures], [*segments])
    run.sum_up(counted)
    if not counted.subjects:
        raise InputError("no capture or segment in this could be read")
    answer: Answer = counted.by.answer(
        top=options.top, records=options.records == "decoded", limits={} if options.limits_shown else None
    )
    return answer


def _spending(catalog: Catalog, tables: list[tuple[str, ...]], limits: Limits) -> Overhead:
    return Overhead(tables, Tallies(catalog, grouping(tables), limits=limits, named=_packet))


def _packet(line: Any) -> dict[str, Any]:
    """Return the name of a line: its file, and its packet in that file."""
    where: dict[str, Any] = line.where._asdict()
    return where


def _advise(run: Run) -> Answer:
    """Return which encodings and tags would have paid for messages of captures, request logs and Kafka's own topics."""
    options, environment = run.options, run.environment
    messages = on_spark().Messages(run.inputs, named(run.catalog, options.messages, options.apis))
    if messages.left_out:
        tell_of_logs(environment, messages.left_out, APART)
    counted = messages.seen()
    run.sum_up(counted)
    if counted.by.left_out.text:
        environment.note(f"kwire: {counted.by.left_out.text}")
    seen = counted.by.seen
    if not seen.messages:
        raise InputError("this holds no message that is certain, or none that --message and --api choose")
    run.summary.rows = seen.messages
    advice = drawn(run.catalog, seen, messages.priced, least=options.min_saving, half=options.half)
    if options.write_overlay:
        write(environment, Path(options.write_overlay), advice)
    return advice.answer(options.top, options.histograms)


def _verify(run: Run) -> Answer:
    options, paths = run.options, verifiable((*run.inputs.paths,))
    form = options.record_format or AUTO
    verification = on_spark().verified(run.inputs, paths, deep=options.deep, form=form)
    answer: Answer = verification.answer()
    return answer


class Report(NamedTuple):
    """A report: the text that completion shows, the function that answers, and the options that go with the report."""

    about: str
    answer: Callable[[Run], Answer]
    options: tuple[type[Printing], ...] = ()


REPORTS = {
    "advise": Report(
        "which encodings and tags would pay, as kwire compare --advise", _advise, (AdvisedMessages, Advising)
    ),
    "overhead": Report("where the bytes go, as kwire overhead", _overhead, (Tables,)),
    "state": Report("what Kafka's own topics say, as kwire dump --state", _state),
    "verify": Report("what is wrong in log directories, as kwire dump --verify", _verify, (Verifying,)),
}
