"""`kwire dump`: log segments, snapshots and folders of them, batch by batch or record by record.

By default a `BatchRun` shows the files. --verify, --state and --diff are separate analyses of whole partitions, whose
results are an `Answer`. They are imported only when they run, because most runs show batches.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.batch_views import VIEWS, BatchSettings
from kwire_cli.cli.batches import BatchRun
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.fits import BATCHES
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of
from kwire_cli.cli.on_spark import OnSpark, in_tasks
from kwire_cli.cli.options import (
    REPORT_FORMATS,
    Decompression,
    HeaderKeys,
    Listing,
    RecordSets,
    Secrets,
    refuse_terminal,
)
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, option, range_of, refuse, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.filter.rows import filter_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.registers import read_register
from kwire_cli.records.selection import NO_RANGE, Selection
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogFile, LogInput
from kwire_cli.source.opening import open_inputs, refuse_paths
from kwire_cli.stores.paths import exists, location, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.verify import Part, Verified
    from kwire_cli.source.reading import Reading

_SELECTING_OPTIONS = ("offsets", "filter")
"""Options that select batches. Reports need all batches and do not support them."""
PAGE = "html"
_NO_PAGE_OPTIONS = (
    *_SELECTING_OPTIONS,
    "topics",
    "deep",
    "every",
    "full",
    "sort",
    "top",
    "wide",
    "strict",
    "exit_code",
)
"""Options that a page ignores, and that are therefore refused."""


EXAMPLES = (
    ("kwire dump orders-0", "the batches of a partition"),
    ("kwire dump --deep orders-0 --filter 'key == key-0'", "its records with this key"),
    ("kwire dump --verify broken-0", "whether its files are intact"),
)


class Options(Listing, RecordSets, HeaderKeys, OnSpark, Secrets, Payloads, Decompression):
    """Options of `kwire dump`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="[PATH]...", shell_complete=complete_file)
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(tuple(dict.fromkeys((*VIEWS, *REPORT_FORMATS)))),
        help="Set the output format.  [default: table or tree on a terminal, else jsonl]",
    )
    deep: bool = flag("--deep", section="Output", help="Show the records of each batch.")
    every: bool = flag(
        "--all", section="Output", help="Show indexes, snapshots, checkpoints and all other files of folders too."
    )
    verify: bool = flag(
        "--verify",
        section="Output",
        help="Report faults in checksums, offsets, sequences, transactions, indexes; exit with 1.",
    )
    state: bool = flag("--state", section="Output", help="Show the state that Kafka's internal topics add up to.")
    at: int | None = option(
        "--at",
        section="Output",
        rare=True,
        type=click.IntRange(min=0),
        metavar="OFFSET",
        help="Show the state at this offset, its record included (with --state).",
    )
    diff: str | None = option(
        "--diff",
        section="Output",
        rare=True,
        metavar="N..M",
        help="Show changes of the state between two offsets (with --state).",
    )
    offsets: str | None = option(
        "--offsets",
        section="Choose",
        metavar="A-B",
        help="Show only batches, or records with --deep, with these offsets.",
    )
    filter: str | None = option(
        "--filter",
        section="Choose",
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Show only batches and records that match, such as 'producerId == 9'.",
    )
    topics: tuple[str, ...] = option(
        "--topic",
        section="Choose",
        multiple=True,
        metavar="NAME",
        help="Show only partitions of this topic (folders); repeatable.",
    )


@click.command(name="dump", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Show log segments and snapshots batch by batch; with --deep, record by record.

    PATH is files, folders (a partition or a whole log directory), - for standard input, or record batches as
    hex or in any form that kwire decode reads. Indexes, producer snapshots and checkpoints are shown too.
    Records of Kafka's internal topics are decoded.
    """
    if options.state or options.at is not None or options.diff is not None:
        return _show_state(environment, options)
    if options.verify:
        return _show_verification(environment, options)
    refuse(options, ("master",), "is for --verify")
    if options.table is not None:
        raise click.UsageError("--table is for the reports of --verify and --state")
    _refuse_names(options.paths)
    if _choose_format(environment, options) == PAGE:
        return _write_page(environment, options)
    settings = _build_settings(environment, options)
    run = BatchRun(environment, settings)
    for file in files_of(environment, options, settings.how):
        if run.is_full:
            break
        if file.topic:
            run.topics.add(file.topic)
        if not options.topics or file.topic in options.topics:
            run.show_file(file)
            environment.flush()
    run.progress.done()
    run.end()
    if run.files and not (run.found or run.no_batches) and settings.selection.everything:
        environment.note(f"kwire: 0 batches in {counted(run.files, 'file')}")
    if run.no_batches and not run.found:
        raise InputError(f"{missing_names(options.paths)}{_NO_BATCH}")
    empty = options.exit_code and run.is_empty
    return Exit.FOUND if (options.strict and run.anomalous) or empty else Exit.DONE


_NO_BATCH = "there is no record batch in this; kwire decode reads requests, responses and captures"
_MIN_BASE64 = 36
"""Characters of the shortest record batch, as base64: a message of format 0 has 26 bytes."""


def _refuse_names(paths: tuple[str, ...]) -> None:
    """Raise InputError for names of missing files that are too short to be encoded record batches."""
    missing = missing_names(paths)
    if missing and len("".join(paths)) < _MIN_BASE64:
        refuse_paths(paths[0])
        raise InputError(f"{missing}{_NO_BATCH}")


def _choose_format(environment: Environment, options: Options) -> str:
    is_log = not options.paths or any(path == "-" or exists(path) for path in options.paths)
    for_eyes = "table" if is_log and not options.full else "tree"
    chosen = options.format_for(environment, (*VIEWS, PAGE), for_eyes)
    refuse_terminal(environment, chosen)
    return chosen


def _write_page(environment: Environment, options: Options) -> Exit:
    """Write the page of `kwire report` about the inputs, with their batches first."""
    from kwire_cli.analysis.report import Report  # most runs show batches
    from kwire_cli.analysis.subjects import add_all
    from kwire_cli.cli.questions import typed
    from kwire_cli.cli.report import write_report
    from kwire_cli.view.page.details import Details

    refuse(options, _NO_PAGE_OPTIONS, "is not for a page")
    redaction = Redaction(options.catalog, show_secrets=options.show_secrets)
    report = Report(redaction)
    with environment.answering():
        inputs = open_inputs(options.paths, _build_reading(options), Terminal(environment), takes=BATCHES.kinds)
        add_all(inputs, report)
        write_report(environment, report, Details(redaction), options.paths, typed(options.paths), "logs")
    return Exit.DONE


def _build_settings(environment: Environment, options: Options) -> BatchSettings:
    return BatchSettings(
        view=VIEWS[_choose_format(environment, options)],
        options=options,
        redaction=Redaction(options.catalog, show_secrets=options.show_secrets),
        how=_build_reading(options),
        selection=Selection(
            range_of(options.offsets, "--offsets") if options.offsets else NO_RANGE,
            filter_of(options.catalog, options.filter, "batches") if options.filter else None,
        ),
        deep=options.deep or options.reads_payloads,
        register=read_register(options.register),
        several=_has_several_files(options.paths),
        topics=options.topics,
    )


def _build_reading(options: Options) -> Reading:
    return reading_of(options, input_kind=Kind.BATCHES, every=options.every)


def files_of(environment: Environment, options: Options, how: Reading) -> Iterator[LogFile]:
    """Yield the files of the inputs. Raise InputError for an input that does not exist or is not a log."""
    for opened in open_inputs(options.paths, how, Terminal(environment), takes=BATCHES.kinds):
        if isinstance(opened, LogInput):
            yield from opened.files()


def _has_several_files(paths: tuple[str, ...]) -> bool:
    """Return whether there may be more than one file, so that each file is named in the results."""
    return (len(paths) > 1 and any(map(exists, paths))) or any(
        exists(path) and path_of(path).is_dir() for path in paths
    )


def _show_verification(environment: Environment, options: Options) -> int:
    from kwire_cli.analysis import verify  # most runs show batches

    refuse(
        options,
        (*_SELECTING_OPTIONS, "topics", "as_topic", "record_format"),
        "does not go with --verify, which checks all of a path",
    )
    paths = verifiable(options.paths)
    caller = Terminal(environment)
    parts = verify.parts_of(paths)
    counts: Counter[str] = Counter()
    caller.begin(paths)
    with environment.answering():
        if options.master is None:
            results: Iterable[Verified] = verify.verify_each(parts, deep=options.deep, caller=caller)
        else:
            fold = partial(_verify_numbered, parts, options.deep)
            results = in_tasks(environment, options, len(parts), fold)
        emit(environment, verify.verification(paths, results, counts), options)
    return Exit.FOUND if counts["faults"] else Exit.DONE


def _verify_numbered(parts: Sequence[Part], deep: bool, numbers: Iterable[int]) -> list[Verified]:  # noqa: FBT001 - of a partial
    from kwire_cli.analysis import verify  # as above

    results = verify.verify_each((parts[number] for number in numbers), deep=deep)
    return [result._replace(rows=[*result.rows]) for result in results]


def verifiable(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths. Raise InputError if one of them is not an existing file or folder."""
    if not paths or "-" in paths:
        raise InputError(
            "--verify cross-checks the files of a log directory: give files or folders, not standard input"
        )
    for path in paths:
        if not path_of(path).exists():
            raise InputError("there is no such file", file=location(path))
    return paths


def _show_state(environment: Environment, options: Options) -> int:
    from kwire_cli.analysis.state import changes, tables, topics  # most runs show batches

    if not options.state:
        raise click.UsageError("--at and --diff need --state; --offsets A-B chooses batches and records")
    refuse(
        options,
        (*_SELECTING_OPTIONS, "deep", "every", "verify", "master", *(["at"] if options.diff is not None else [])),
        "does not go with --state, which uses all records up to an offset (--at) or in a range (--diff)",
    )
    between = None if options.diff is None else changes.range_of(options.diff)
    files = list(files_of(environment, options, _build_reading(options)))
    logs = topics.logs_of(
        options.catalog, files, as_topic=options.as_topic, wanted=options.topics, limits=options.limits
    )
    hide = Redaction(options.catalog, show_secrets=options.show_secrets).record
    try:
        if between is None:
            states = topics.read_logs(logs, lambda log: log.folded(options.at))
            current_files = files if options.at is None else None  # files show the current state, not that at an offset
            answer = tables.state_answer(states, hide=hide, beside=current_files)
        else:
            parts = topics.read_logs(logs, lambda log: changes.changed(log, between))
            states = [part.now for part in parts]
            answer = changes.changes_answer(parts, options.diff or "", hide=hide)
    except InputError as error:
        raise InputError(f"{missing_names(options.paths)}{error.reason}", file=error.file) from None
    emit(environment, answer, options)
    anomalous = any(state.passed.notes or state.unknown for state in states)
    return Exit.FOUND if options.strict and anomalous else Exit.DONE
