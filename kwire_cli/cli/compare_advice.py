"""`kwire compare --advise` and `--histogram`: answers about the values of fields in captures and logs.

Guessed messages are skipped, because wrong values would spoil the answers.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.analysis.costs.advice import Advising
from kwire_cli.analysis.costs.histogram import HEADER, Histogram
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.compare_inputs import bodies, headers, payloads
from kwire_cli.cli.fits import refuse_unfit
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.options import Captures, Choosing, Definitions, Messages, RecordSets
from kwire_cli.cli.typed_options import option
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import READABLE, open_inputs
from kwire_cli.source.reading import Read, empty_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.reading import Opened


ADVICE_OPTIONS = ("write_overlay",)
"""Fields of AdviceOptions that only advice supports."""
_TAKES = READABLE - {Kind.LOG_FILE, Kind.REQUEST_LOG}


class AdviceOptions(Captures, Choosing, Messages, RecordSets, Definitions):
    """Options for advice on the inputs of a command, and for histograms of their fields."""

    write_overlay: str | None = option(
        "--write-overlay",
        section="Output",
        rare=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the changes that pay as an overlay for --form and --specs.",
    )


def histogram_of(environment: Environment, options: AdviceOptions, path: str, sources: tuple[str, ...]) -> Answer:
    """Return the numbers of a field in all inputs. Raises InputError if no message has the field."""
    histogram = Histogram(path)
    read = headers if path.startswith(HEADER) else bodies
    for message in _certain_messages(environment, options, sources, read):
        if message.exact:
            histogram.add(message)
    return histogram.answer()


def advice_on(environment: Environment, options: AdviceOptions, sources: tuple[str, ...]) -> Answer:
    """Return the advice on all inputs, and write the overlay if it was requested.

    Raises InputError if no message is certain.
    """
    with closing(Advising(options.catalog)) as advising:
        for message in _certain_messages(environment, options, sources):
            advising.add(message)
        advice = advising.advice()
    if options.write_overlay:
        file = options.write_overlay
        try:
            Path(file).write_text(advice.overlay, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=file) from None
        environment.note(
            f"{file}: an overlay of {advice.changed_fields} fields, which saves {advice.saved} of {advice.size} bytes"
        )
    return advice.answer()


def _certain_messages(
    environment: Environment,
    options: AdviceOptions,
    sources: tuple[str, ...],
    parts: Callable[[Opened, Choice], Iterator[Decoded | None]] = bodies,
) -> Iterator[Body]:
    """Yield the bodies of frames that are certain, or their headers, and Kafka's messages in records.

    Raise InputError without any.
    """
    if not sources and environment.stdin.isatty():
        raise InputError(
            "no input: give captures, frames, segments, folders of a log directory, or - for standard input"
        )
    choice = Choice(options, options.catalog)
    read = Read()
    is_empty = True
    for opened in open_inputs(sources or ("-",), reading_of(options), Terminal(environment), takes=_TAKES):
        refuse_unfit(options, opened)
        messages = payloads(opened) if isinstance(opened, LogInput) else parts(opened, choice)
        for message in messages:
            if message:
                is_empty = False
                yield message
        read.append((opened.label, opened.emptiness))
    if is_empty:
        raise empty_inputs(read) or InputError(
            "this holds no message that is certain: for a response outside a capture give --api and --message-version"
        )
