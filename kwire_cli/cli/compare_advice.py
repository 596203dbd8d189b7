"""`kwire compare --advise`: the encodings and tags that would save bytes, from the values in captures and logs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.costs.advice import Advising
from kwire_cli.analysis.costs.messages import Message, in_batches, in_body, in_exchanges, in_frame, in_lines
from kwire_cli.cli.capture_inputs import Choice, tell_of_logs
from kwire_cli.cli.inputs import Terminal, reading_of, refuse_unfit
from kwire_cli.cli.options import Captures, Choosing, Definitions, Messages, RecordSets
from kwire_cli.cli.typed_options import Printing, option
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import Decoded
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import READABLE, open_inputs
from kwire_cli.source.reading import Read, empty_inputs
from kwire_cli.source.request_log.exchange import Bodies, Exchange, LeftOut
from kwire_cli.source.request_log_inputs import RequestLogInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.advice import Advice
    from kwire_cli.cli.environment import Environment


ADVICE_OPTIONS = ("min_saving", "histograms", "write_overlay", "as_topic")
"""Fields of AdviceOptions that only advice has a use for."""
APART = "only the captures are read; give request logs alone for advice on them"
"""The note on request logs among captures, which may show the same exchanges."""
_TAKES = READABLE - {Kind.LOG_FILE}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class AdviceChoice(Printing):
    """Options for advice: the smallest saving, histograms, and the overlay."""

    SECTION: ClassVar[str] = "Choose"

    min_saving: int = option(
        "--min-saving",
        rare=True,
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="BYTES",
        help="Overlay only what saves at least this many bytes.",
    )
    histograms: int = option(
        "--histograms",
        rare=True,
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        metavar="N",
        help="Draw histograms of this many integer fields.",
    )
    write_overlay: str | None = option(
        "--write-overlay",
        section="Output",
        rare=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the changes that pay as an overlay for --overlay.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdviceOptions(AdviceChoice, Captures, Choosing, Messages, RecordSets, Definitions):
    """Options for advice on the inputs of a command."""


def advice_on(environment: Environment, options: AdviceOptions, sources: tuple[str, ...]) -> Advice:
    """Return the advice on all inputs, and write the overlay if it was requested.

    Raises InputError if no message is certain.
    """
    if not sources and environment.stdin.isatty():
        raise InputError(
            "no input: give captures, frames, segments, folders of a log directory, request logs, or - for "
            "standard input"
        )
    read = Read()
    with closing(Advising(options.catalog)) as advising:
        for message in _messages(environment, options, sources or ("-",), read):
            advising.add(message)
        if not advising.messages:
            raise empty_inputs(read) or InputError(
                "this holds no message that is certain: for a response outside a capture give --api and "
                "--message-version"
            )
        advice = advising.advice(options.min_saving)
    if options.write_overlay:
        _write(environment, Path(options.write_overlay), advice)
    return advice


def _write(environment: Environment, file: Path, advice: Advice) -> None:
    try:
        file.write_text(advice.overlay, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    environment.note(
        f"{file}: an overlay of {advice.changed_fields} fields, which saves {advice.saved} of {advice.size} bytes"
    )


def _messages(
    environment: Environment, options: AdviceOptions, sources: tuple[str, ...], read: Read
) -> Iterator[Message]:
    """Yield the messages of all inputs, of request logs only without captures."""
    logs = list[RequestLogInput]()
    has_captures = False
    choice = Choice(options, options.catalog)
    for opened in open_inputs(sources, reading_of(options), Terminal(environment), takes=_TAKES):
        refuse_unfit(options, opened)
        if isinstance(opened, RequestLogInput):
            logs.append(opened)
            continue
        if isinstance(opened, LogInput):
            for file in opened.files():
                yield from in_batches(file.items(file.source(opened.how), opened.caller))
            opened.caller.done()
        elif isinstance(opened, CaptureInput):
            has_captures = True
            yield from in_lines(choice.among(opened.subjects()))
        else:
            for subject in opened.subjects():
                yield from [in_body(subject)] if isinstance(subject, Decoded) else in_frame(subject)
        read.append((opened.label, opened.emptiness))
    if has_captures and logs:
        tell_of_logs(environment, [log.label for log in logs], APART)
        return
    left_out = LeftOut()
    for log in logs:
        exchanges = (entry for entry in log.subjects() if isinstance(entry, Exchange))
        for entry in in_exchanges(exchanges, Bodies(options.catalog)):
            if isinstance(entry, Message):
                yield entry
            else:
                left_out.add(f"{log.label}:{entry.line}", entry)
        read.append((log.label, log.emptiness))
    if left_out.text:
        environment.note(f"kwire: {left_out.text}")
