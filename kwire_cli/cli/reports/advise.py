"""`--report advise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.environment import Exit
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from kwire_cli.cli.reports import Asked


def show(asked: Asked) -> int:
    """Show which encodings and tags would have paid for messages.

    The messages come from captures, request logs, and segments of Kafka's own topics.
    """
    from kwire_cli.analysis.costs.advice_values import named
    from kwire_cli.cli.advise import APART, show_advice
    from kwire_cli.cli.capture_inputs import tell_of_logs
    from kwire_cli.cli.options import limits_of
    from kwire_cli.cli.reports.counting import of_captures, tell
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
    show_advice(asked.environment, catalog, seen, messages.priced, asked.fmt, options)
    return Exit.DONE
