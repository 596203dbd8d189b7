"""`kwire tui`: browse a file or a folder in the terminal.

This module opens files for the terminal interface, which is a separate package and independent of options. A file is
opened as a listing of its frames or batches, with views of further analyses. An analysis runs only when its view is
opened.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.groups.groups import Groups
from kwire_cli.analysis.ladder import Ladder
from kwire_cli.analysis.stats import Stats
from kwire_cli.analysis.subjects import add_all
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.fits import BATCHES, refuse_unfit
from kwire_cli.cli.inputs import reading_of
from kwire_cli.cli.options import Capture, Secrets, topic_option
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError
from kwire_cli.facts.costs.columns import owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.filter.rows import filter_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.logs.files import files_in, nothing_in
from kwire_cli.source.logs.model import BATCH_KINDS, Kind as LogKind, file_name
from kwire_cli.source.opening import open_input, open_inputs
from kwire_cli.source.packets.files import captures_in
from kwire_cli.source.reading import Caller
from kwire_cli.stores.opening import tree
from kwire_cli.stores.paths import exists, path_of
from kwire_cli.tui.captures import Captures
from kwire_cli.tui.listing import FolderFile, OpenedFile, View
from kwire_cli.tui.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.answer import Answer
    from kwire_cli.source.reading import Follow
    from kwire_cli.tui.app import Folder
    from kwire_cli.tui.browser import Browser

_TAKES = frozenset({Kind.CAPTURE, Kind.BATCHES})
_KINDS = {LogKind.LOG: "segment", LogKind.CHECKPOINT: "snapshot"}
_COSTS = ("api", "kind", "field")
"""Dimensions by which the bytes of a capture are grouped."""


EXAMPLES = (
    ("kwire tui incident.pcap", "frames, fields and bytes side by side"),
    ("kwire tui incident.pcap --filter error", "only what failed"),
    ("kwire tui orders-0/00000000000000000000.log", "the batches of a segment"),
    ("kwire tui live.pcap --follow", "a capture that tcpdump is writing"),
    ("kwire tui /var/lib/kafka/data", "the segments of a folder, of which Enter opens one"),
)


class Options(Capture, Payloads, Secrets):
    """Options of `kwire tui`."""

    source: str = argument(metavar="SOURCE", shell_complete=complete_file)
    filter: str = option(
        "--filter",
        section="Choose",
        default="",
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Show only frames or batches that match at first; see docs/filter.md.",
    )
    follow: bool = flag("--follow", section="Input", help="Keep reading an input that grows, until Ctrl-C.")
    topic: str | None = topic_option(
        "Name the topic of a segment.  [default: taken from the folder's name]", fits=BATCHES
    )

    @property
    def is_live(self) -> bool:
        """Return True: the interface redraws the terminal."""
        return True


@click.command(name="tui", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Browse a capture or a segment in the terminal.

    SOURCE is a packet capture, a log segment or snapshot, or a folder of captures or segments. Frames or batches,
    their fields and their bytes are shown side by side and follow each other; ? lists the keys. A large file is
    shown while it is still being read.
    """
    if importlib.util.find_spec("textual") is None:
        raise InputError("the terminal interface needs the package textual: pip install 'kwire[tui]'")
    screen = screen_of(options)
    if not (environment.to_terminal and environment.stdin.isatty()):
        raise click.UsageError("this is for a terminal; kwire decode and kwire dump print the same")
    from kwire_cli.tui.app import Inspector  # textual is optional

    app = Inspector(screen)
    app.run()
    return Exit.FAILED if app.return_code else Exit.DONE


def screen_of(options: Options) -> Browser | Folder:
    """Return the first screen. Raise InputError if the source cannot be read, and FilterError for a wrong filter."""
    from kwire_cli.tui.app import Folder  # textual is optional
    from kwire_cli.tui.browser import Browser

    source = options.source
    if source == "-":
        raise InputError("standard input is the keyboard here: write what comes from a pipe to a file first")
    if not exists(source):
        raise InputError("there is no such file", file=source)
    if path_of(source).is_dir():
        files = files_of(source)
        return Folder(source, files, partial(opened_file, options), options.filter, follows=options.follow)
    if not path_of(source).is_file():
        raise InputError(
            "this is a pipe or a device, which can be read only once: write what comes from it to a file first",
            file=source,
        )
    return Browser(source, partial(opened_file, options), options.filter, follows=options.follow)


def files_of(folder: str) -> list[FolderFile]:
    """Return the segments, snapshots and captures below a folder. Raise InputError if there are no such files."""
    root = path_of(folder)
    logs = [(file.path, _KINDS[file.kind]) for file in files_in(root, BATCH_KINDS)]
    captures = [(path_of(path), "capture") for path in captures_in(tree(root))]
    if not logs and not captures:
        raise nothing_in(root, "capture, segment or snapshot")
    return [
        FolderFile(str(path), str(path).removeprefix(f"{root}/"), kind, path.stat().st_size)
        for path, kind in (*logs, *captures)
    ]


def opened_file(options: Options, source: str, follow: Follow | None = None) -> OpenedFile:
    """Open a file for the terminal interface. Raise InputError if it cannot be read, or cannot be followed."""
    catalog = options.catalog
    how = replace(reading_of(options), topic=options.topic)
    is_log = file_name(path_of(source).name).kind in BATCH_KINDS
    is_new = follow is not None and not is_log and not path_of(source).stat().st_size
    opened = open_input(source, replace(how, follow=follow) if is_new else how, takes=_TAKES)
    refuse_unfit(options, opened)
    redaction = Redaction(catalog, show_secrets=options.show_secrets)
    if isinstance(opened, CaptureInput):
        capture = CaptureInput(opened.recognised, replace(how, follow=follow), opened.caller)
        return OpenedFile(
            Captures(redaction, partial(filter_of, catalog), capture), _build_views(options, source, _CAPTURE_VIEWS)
        )
    assert isinstance(opened, LogInput)  # noqa: S101 - the other kind of _TAKES
    file, *others = opened.files()
    if others:
        raise InputError(
            "there are several record sets in this file: give one of them in a file of its own", file=opened.name
        )
    listing = Segments(redaction, partial(filter_of, catalog, rows="batches"), partial(file.source, how), follow)
    return OpenedFile(listing, _build_views(options, source, _LOG_VIEWS))


class _ViewCaller(Caller):
    """The caller of an analysis, which ends when its view is closed."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    @property
    def stopped(self) -> bool:
        """Return whether the view was closed, so that the answer is not needed."""
        return self._stopped()


_LOG_VIEWS: tuple[tuple[str, Callable[[Redaction], Any], bool], ...] = (
    ("Findings", Diagnosis, True),
    ("Groups", Groups, True),
)
"""The views of a log: their names, their analyses, and whether these need the connections of a capture."""
_CAPTURE_VIEWS = (
    *_LOG_VIEWS,
    ("Stats", Stats, False),
    ("Sequence", Ladder, False),
    (
        "Costs",
        lambda redaction: Overhead([(name,) for name in _COSTS], Costs(redaction.catalog, owners_of(_COSTS))),
        False,
    ),
)


def _build_views(
    options: Options, source: str, questions: Iterable[tuple[str, Callable[[Redaction], Any], bool]]
) -> list[View]:
    redaction = Redaction(options.catalog, show_secrets=options.show_secrets)
    return [
        View(name, partial(_run_analysis, options, source, question, redaction, needs))
        for name, question, needs in questions
    ]


def _run_analysis(
    options: Options,
    source: str,
    question: Callable[[Redaction], Any],
    redaction: Redaction,
    connections: bool,  # noqa: FBT001 - a value of a row of the views
    stopped: Callable[[], bool],
) -> Answer:
    fold = question(redaction)
    how = replace(reading_of(options), connections=connections, topic=options.topic)
    add_all(open_inputs([source], how, _ViewCaller(stopped)), fold, connections=connections)
    answer: Answer = fold.answer()
    return answer.read()
