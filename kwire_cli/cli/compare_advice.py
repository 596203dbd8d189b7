"""`kwire compare --advise`: the encodings and tags that would save bytes, from the values in captures and logs."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from kwire_cli.analysis.costs.advice import drawn
from kwire_cli.analysis.costs.advice_folds import NotWritten, Pricing, Seeing
from kwire_cli.analysis.costs.advice_plan import overlay_text
from kwire_cli.analysis.costs.advice_values import (
    Message,
    in_batches,
    in_exchanges,
    in_frame,
    in_lines,
    named,
    place_of,
)
from kwire_cli.cli.capture_inputs import Choice, tell_of_logs
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.options import Captures, Choosing, Definitions, Messages, RecordSets
from kwire_cli.cli.typed_options import Printing, option, refuse
from kwire_cli.errors import InputError
from kwire_cli.message.frames import Hints
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import READABLE, STANDARD_INPUT, open_inputs
from kwire_cli.source.reading import empty_inputs
from kwire_cli.source.request_log.exchange import Bodies, Exchange
from kwire_cli.source.request_log_inputs import RequestLogInput
from kwire_cli.source.text.reading import frames_in
from kwire_cli.stores import exists, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.advice import Advice, Plans, Prices
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.reading import Opened


ADVICE_OPTIONS = ("min_saving", "histograms", "write_overlay", "as_topic")
"""Fields of AdviceOptions that only advice has a use for."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class Advising(Printing):
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
class AdviceOptions(Advising, Captures, Choosing, Messages, RecordSets, Definitions):
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
    advice = _advice(environment, options, sources)
    if options.write_overlay:
        write(environment, Path(options.write_overlay), advice)
    return advice


def _advice(environment: Environment, options: AdviceOptions, sources: tuple[str, ...]) -> Advice:
    catalog = options.catalog
    names = named(catalog, _names(options.message), _names(options.api))
    with closing(MessagesTwice(environment, options, sources)) as messages:
        seeing = messages.counted(Seeing(catalog, names))
        if seeing.left_out.text:
            environment.note(f"kwire: {seeing.left_out.text}")
        if not seeing.seen.messages:
            raise empty_inputs([(opened.label, opened.emptiness) for opened in messages.inputs]) or InputError(
                "this holds no message that is certain: for a response outside a capture give --api and "
                "--message-version; --message, --api and --filter choose among the others"
            )

        def price(plans: Plans) -> Prices:
            return messages.counted(Pricing(catalog, names, plans)).prices

        return drawn(catalog, seeing.seen, price, least=options.min_saving)


def _names(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def write(environment: Environment, file: Path, advice: Advice) -> None:
    """Write the overlay of advice to a file. Raises InputError if that is impossible."""
    try:
        file.write_text(overlay_text(advice.overlay), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    environment.note(
        f"{file}: an overlay of {len(advice.plan)} fields, which saves {advice.saved} of {advice.seen.size} bytes"
    )


APART = "only the captures are read; give request logs alone for advice on them"
"""The note on request logs among captures, which may show the same exchanges."""
_TAKES = READABLE - {Kind.LOG_FILE, Kind.BODY}


AnyCounter = TypeVar("AnyCounter", "Seeing", "Pricing")


class MessagesTwice:
    """All inputs of a command line: captures, frames, segments, log directories and request logs.

    They are read anew each time, so what comes through a pipe is kept in a file until this is closed.
    """

    def __init__(self, environment: Environment, options: AdviceOptions, arguments: tuple[str, ...]) -> None:
        self.options, self.catalog = options, options.catalog
        self.first = True
        self.inputs: list[Opened] = []
        self._most: int | None = None
        self._environment, self._terminal = environment, Terminal(environment)
        self._piped: list[Any] = []
        self._names: dict[str, str] = {}
        sources = arguments or (() if environment.stdin.isatty() else ("-",))
        self._sources = [self._kept(source) for source in sources]
        self._how = reading_of(replace(options, message=None, api=None))  # here they choose messages

    def close(self) -> None:
        """Let go of what came through pipes."""
        for file in self._piped:
            file.close()

    def _kept(self, source: str) -> str:
        if source != "-" and not (exists(source) and path_of(source).is_fifo()):
            return source
        kept = tempfile.NamedTemporaryFile(prefix="kwire-")  # noqa: SIM115 - closed with all others
        if source == "-":
            shutil.copyfileobj(self._environment.stdin, kept)
        else:
            with path_of(source).open("rb") as pipe:
                shutil.copyfileobj(pipe, kept)
        kept.flush()
        self._piped.append(kept)
        self._names[kept.name] = STANDARD_INPUT if source == "-" else source
        return kept.name

    def counted(self, counter: AnyCounter) -> AnyCounter:
        """Return a counter to which all messages were added. Raises InputError if an input cannot be read."""
        read = 0
        for message in islice(self._all(), self._most):
            counter.add(message)
            read += 1
        if self.first and self._terminal.stopped:
            self._most = read
        self.first = False
        return counter

    def _all(self) -> Iterator[Message | NotWritten]:
        """Yield everything as it was given, request logs last."""
        logs, captured = list[RequestLogInput](), False
        api = self.catalog.api(self.options.api) if self.options.api else None
        hints = Hints(api, self.options.version, self.options.kind)
        choice, numbers = Choice(self.options, self.catalog), count()
        caller = self._terminal if self.first else Again(self._environment)
        for opened in open_inputs(self._sources, self._how, caller, takes=_TAKES, names=self._names):
            self.inputs.append(opened)
            if isinstance(opened, RequestLogInput):
                logs.append(opened)
            elif isinstance(opened, LogInput):
                for file in opened.files():
                    yield from in_batches(file.items(file.source(opened.how), caller), place_of(next(numbers)))
                caller.done()
            elif isinstance(opened, CaptureInput):
                captured = True
                yield from in_lines(choice.among(opened.subjects()), [place_of(next(numbers))])
            else:
                place = place_of(next(numbers))
                for frame in frames_in(self.catalog, opened.recognised.frames, hints):
                    yield from in_frame(frame, place + frame.number)
        if captured and logs:
            if self.first:
                tell_of_logs(self._environment, [log.label for log in logs], APART)
            return
        for log in logs:
            yield from self._log(log, place_of(next(numbers)))

    def _log(self, log: RequestLogInput, place: int) -> Iterator[Message | NotWritten]:
        why = f"is for packet captures, and {log.label} is a broker's request log"
        refuse(self.options, ("filter", "frames", "packets", "stream"), why)
        exchanges = (entry for entry in log.subjects() if isinstance(entry, Exchange))
        for entry in in_exchanges(exchanges, Bodies(self.catalog), place):
            yield entry if isinstance(entry, Message) else NotWritten(f"{log.label}:{entry.line}", entry)


class Again(Terminal):
    """The caller of inputs that are read once more: they were remarked upon before."""

    def note(self, text: str) -> None:
        """Leave the remark out."""

    @property
    def stopped(self) -> bool:
        """Return False: as much is read as before."""
        return False
