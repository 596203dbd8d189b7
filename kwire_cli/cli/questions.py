"""Inputs of commands that ask about traffic and logs: captures, request logs and log directories as subjects."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.subjects import LOGS, TRAFFIC, add_all
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of, refuse_unfit
from kwire_cli.cli.options import Captures, Definitions, Report
from kwire_cli.cli.typed_options import argument
from kwire_cli.errors import InputError, close_to, counted, did_you_mean
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kwire_cli.analysis.fold import Counter
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.inputs import Fit
    from kwire_cli.source.reading import Opened

_NAMES = {
    Kind.CAPTURE: "packet captures",
    Kind.REQUEST_LOG: "brokers' request logs",
    Kind.FOLDER: "log directories and segments",
}


MOST_TYPED = 3
"""Inputs that proposed commands name; more are INPUT..., as the command line has them already."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Asking(Report, Captures, Definitions):
    """Inputs and output of a command that asks about traffic and logs."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)


def ask(
    environment: Environment,
    options: Asking,
    fold: Counter[Any],
    *,
    takes: Collection[Kind] = TRAFFIC | LOGS,
    connections: bool = False,
    fits: Mapping[str, Fit] | None = None,
    ended: Callable[[Opened], None] | None = None,
) -> int:
    """Add all subjects of the inputs to a fold, and return how many there were.

    Subjects are lines of captures, exchanges and faults of request logs, and items of logs; with `connections` also
    the TCP connections of captures. `fits` says which options are for which inputs, and `ended` is told of each input
    when all of it was read.

    Raises:
        InputError: An input cannot be read, is of a kind that the question is not about, or nothing was in any input.
            Captures and request logs together: both may show the same requests, which would count twice.

    """
    source = options.source
    wanted = [name for kind, name in _NAMES.items() if kind in takes]
    if not source and environment.stdin.isatty():
        raise InputError(f"no input: give {' or '.join(wanted)}, or - for standard input")
    how = replace(reading_of(options), connections=connections)

    def begun(opened: Opened) -> None:
        if opened.kind not in takes:
            about = f"this question is about {' and '.join(wanted)}, not about {opened.kind.what}"
            what = f"{missing_names(source)}{about}"
            raise InputError(what, file=opened.name)
        if fits:
            refuse_unfit(options, opened, fits)

    return add_all(open_inputs(source, how, Terminal(environment), waits=True), fold, begun=begun, ended=ended)


MOST_NAMED = 5
"""Names that an error lists."""


def refuse_missing(option: str, wanted: Sequence[str], what: str, names: Sequence[str]) -> None:
    """Raise InputError for a wanted name that is not among `names`, with how many there are and those like it."""
    for name in wanted:
        if name not in names:
            some = f": {', '.join(names[:MOST_NAMED])}" if names else ""
            more = ", ..." if len(names) > MOST_NAMED else ""
            listed = f"there {'is' if len(names) == 1 else 'are'} {counted(len(names), what)} in this{some}{more}"
            raise InputError(f"{option} {name}: {listed}{did_you_mean(close_to(name, names))}")


def typed(source: Sequence[str]) -> str:
    """Return inputs as they are typed in a shell, for the commands that an answer proposes."""
    return " ".join(map(shlex.quote, source)) if 0 < len(source) <= MOST_TYPED else "INPUT..." if source else "-"
