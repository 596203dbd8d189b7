"""`--report overhead`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.environment import Exit
from kwire_cli.cli.pages import Collected

if TYPE_CHECKING:
    from kwire_cli.cli.reports import Asked


def show(asked: Asked) -> int:
    """Where the bytes of captures and segments go: by api, of segments alone by topic and partition; and by kind."""
    from kwire_cli.cli.overhead import MOST_ROWS
    from kwire_cli.cli.overhead_counting import DEFAULTS
    from kwire_cli.cli.overhead_output import write_csv, write_json
    from kwire_cli.cli.reports.counting import tell
    from kwire_cli.cli.sizes import limits_of
    from kwire_cli.cost.overhead.dimensions import OF_MESSAGE
    from kwire_cli.cost.overhead.report import report
    from kwire_cli.pipeline.kinds import by_kind
    from kwire_cli.pipeline.overhead import spent
    from kwire_cli.view.overhead import record_lines, report_lines

    segments, captures = by_kind(asked.paths)
    tables = DEFAULTS["capture" if captures else "segments"]
    names = [name for name in OF_MESSAGE if any(name in each for each in tables)]
    found = spent(asked.spark, captures, segments, names, port=asked.options["port"], limits=limits_of(asked.options))
    tell(asked, found.faults)
    made = report(found.bytes, tables, MOST_ROWS if asked.fmt == "table" else None)
    if isinstance(asked.environment, Collected):
        from kwire_cli.view.html.overhead import charts

        asked.environment.charts += charts(made, found.bytes)
    if asked.fmt == "table":
        asked.environment.write_lines(report_lines(made, messages="messages" if captures else "files"))
        asked.environment.write_lines([[], *record_lines(made, MOST_ROWS)] if made.records else [])
    elif asked.fmt == "csv":
        write_csv(asked.environment, made)
    else:
        files = {"fileBytes": found.file_bytes} if captures else {}
        write_json(asked.environment, made.to_json() | files, asked.fmt)
    summary = asked.summary
    summary.files, summary.size, summary.rows = len(captures) + len(segments), found.bytes.size, found.bytes.messages
    return Exit.DONE
