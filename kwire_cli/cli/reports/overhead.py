"""`--report overhead`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.environment import Exit
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from kwire_cli.cli.reports import Asked


def show(asked: Asked) -> int:
    """Show where the bytes of captures and segments go, by kind and by the groups of --by.

    The default groups are the api for captures, and topic and partition for segments.
    """
    from kwire_cli.analysis.costs.measures import OF_MESSAGE
    from kwire_cli.analysis.costs.tallies import Tallies
    from kwire_cli.cli.options import limits_of
    from kwire_cli.cli.overhead_report import DEFAULTS, Asked as AskedOf, Counted, show as show_counted
    from kwire_cli.cli.reports.counting import of_captures, tell
    from kwire_cli.pipeline.model import CAPTURES, SEGMENTS, numbered
    from kwire_cli.pipeline.reports import spent
    from kwire_cli.stores import sizes

    options = asked.options | {"given": ()}
    how = AskedOf(asked.environment, options["catalog"], options)
    of_segments, of_captured = numbered(asked.paths, SEGMENTS, CAPTURES)
    segments, captures = [*of_segments], [*of_captured]
    tables = how.tables or [*DEFAULTS["segments" if 0 in of_segments.values() else "capture"]]
    names = [name for name in OF_MESSAGE if any(name in each for each in tables)]
    found = spent(
        asked.spark, captures, segments, names, options["catalog"], limits=limits_of(options), **of_captures(asked)
    )
    tell(asked, found.faults)
    if not found.bytes.messages:
        raise InputError("no capture or segment in this could be read")
    counted = Counted(
        tables,
        Tallies(options["catalog"], names),
        None,
        found.file_bytes,
        len(captures),
        not captures,
        summed=found.bytes,
    )
    show_counted(how, counted, asked.fmt)
    summary = asked.summary
    summary.files, summary.size, summary.rows = (
        len(captures) + len(segments),
        found.file_bytes + sum(sizes(segments)),
        found.bytes.messages,
    )
    return Exit.DONE
