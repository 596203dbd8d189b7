"""`kwire tui`: a file on the whole screen."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote
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
from kwire_cli.cli.inputs import BATCHES, FITS, reading_of, refuse_unfit
from kwire_cli.cli.options import Capture, Frames, OverlaidDefinitions, Secrets, topic_option, version_option
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, option, takes
from kwire_cli.errors import InputError
from kwire_cli.facts.costs.columns import owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.filter.rows import filter_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import open_input, open_inputs
from kwire_cli.source.reading import Caller
from kwire_cli.stores import exists, location, path_of
from kwire_cli.tui.captures import Captures
from kwire_cli.tui.frames import Frames as FrameListing, Segments
from kwire_cli.tui.look import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.answer import Answer
    from kwire_cli.tui.look import Listing

_TAKES = frozenset({Kind.CAPTURE, Kind.BATCHES, Kind.FRAMES})
_COSTS = ("api", "kind", "field")
"""What the bytes of a capture are grouped by."""
_FITS = {name: fit for name, fit in FITS.items() if name != "filter"} | {"topic": BATCHES}


EXAMPLES = (
    ("kwire tui incident.pcap", "frames, fields, bytes and costs side by side"),
    ("kwire tui incident.pcap --filter error", "only what failed"),
    ("kwire tui orders-0/00000000000000000000.log", "the batches of a segment"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Frames, Capture, Payloads, OverlaidDefinitions, Secrets):
    """Options of `kwire tui`."""

    source: str = argument(metavar="FILE", shell_complete=complete_file)
    filter: str = option(
        "--filter",
        section="Choose",
        default="",
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Show only frames or batches that match at first; see docs/filter.md.",
    )
    version: int | None = version_option("Set the version of a response's api.")
    topic: str | None = topic_option("Name the topic of a segment.  [default: taken from the folder's name]")

    @property
    def is_live(self) -> bool:
        """Return True: the terminal is drawn anew."""
        return True


@click.command(name="tui", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Browse a capture, a segment or frames in the terminal.

    FILE is a packet capture, a log segment or snapshot, or frames in any form that kwire decode reads. Frames
    or batches, their fields, their bytes and their costs are shown side by side and follow each other; ? lists
    the keys. A large file is shown while it is still being read.
    """
    if importlib.util.find_spec("textual") is None:
        raise InputError("the terminal interface needs the package textual: pip install 'kwire[tui]'")
    listing = listing_of(options)
    if options.filter:
        listing.select(options.filter)  # what is wrong with it is said at once
    if not (environment.to_terminal and environment.stdin.isatty()):
        raise click.UsageError("this is for a terminal; kwire decode and kwire dump print the same")
    from kwire_cli.tui.app import Inspector  # textual is optional

    try:
        app = Inspector(listing, location(options.source), options.filter, views_of(options, listing))
        app.run()
    finally:
        listing.close()
    return Exit.FAILED if app.return_code else Exit.DONE


def listing_of(options: Options) -> Listing:
    """Return the content of a file as a listing. InputError if the file cannot be read."""
    source, catalog = options.source, options.catalog
    if source == "-":
        raise InputError("standard input is the keyboard here: write what comes from a pipe to a file first")
    if not exists(source):
        raise InputError("there is no such file", file=source)
    if not (path_of(source).is_dir() or path_of(source).is_file()):
        raise InputError(
            "this is a pipe or a device, which can be read only once: write what comes from it to a file first",
            file=source,
        )
    if path_of(source).is_dir():
        text = f"this is a folder; give one of the files in it (kwire {quote(source)} says what they hold)"
        raise InputError(text, file=source)
    how = replace(reading_of(options), version=options.version, topic=options.topic)
    opened = open_input(source, how, takes=_TAKES)
    refuse_unfit(options, opened, _FITS)
    redaction = Redaction(catalog, show_secrets=options.show_secrets)
    if isinstance(opened, CaptureInput):
        return Captures(redaction, opened, partial(filter_of, catalog))
    if not isinstance(opened, LogInput):
        return FrameListing(redaction, opened, partial(filter_of, catalog))
    file, *others = opened.files()
    if others:
        raise InputError(
            "there are several record sets in this file: give one of them in a file of its own", file=opened.name
        )
    return Segments(redaction, file.source(how), partial(filter_of, catalog, rows="batches"))


class _Stopped(Caller):
    """The caller of a question that ends when its view is closed."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    @property
    def stopped(self) -> bool:
        """Return whether nobody waits for the answer any more."""
        return self._stopped()


def views_of(options: Options, listing: Listing) -> list[View]:
    """Return the questions that can be asked about a file: those of captures, or those of logs."""
    redaction = Redaction(options.catalog, show_secrets=options.show_secrets)

    def view(name: str, question: Callable[[], Any], *, connections: bool = False) -> View:
        def ask(stopped: Callable[[], bool]) -> Answer:
            fold = question()
            how = replace(reading_of(options), connections=connections, topic=options.topic)
            add_all(open_inputs([options.source], how, _Stopped(stopped)), fold, connections=connections)
            answer: Answer = fold.answer()
            return answer.read()

        return View(name, ask)

    shared = [
        view("Findings", partial(Diagnosis, redaction), connections=True),
        view("Groups", partial(Groups, redaction), connections=True),
    ]
    if isinstance(listing, Segments):
        return shared
    if not isinstance(listing, Captures):
        return []
    return [
        *shared,
        view("Stats", partial(Stats, redaction)),
        view("Sequence", partial(Ladder, redaction)),
        view("Costs", lambda: Overhead([(name,) for name in _COSTS], Costs(options.catalog, owners_of(_COSTS)))),
    ]
