"""The command `kwire advise`: which encodings and tags would have paid, from the values in captures and logs."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.analysis.costs.advice import SHOWN, drawn, priced
from kwire_cli.analysis.costs.advice_plan import overlay_text
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.advice_values import (
    Message,
    in_batches,
    in_exchanges,
    in_frame,
    in_lines,
    named,
    place_of,
)
from kwire_cli.cli.capture_inputs import CapturePoints, capture_lines, chosen, read_log, tell_of_logs
from kwire_cli.cli.completion import complete_api, complete_file, complete_message
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Progress
from kwire_cli.cli.inputs import inputs
from kwire_cli.cli.options import Captures, Definitions, Report, argument, either, flag, option, takes
from kwire_cli.cli.segments import segment_files
from kwire_cli.errors import InputError
from kwire_cli.message.frames import Hints
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.kinds import Kind
from kwire_cli.source.request_log.exchange import Bodies, Exchange, LeftOut
from kwire_cli.source.text.reading import frames_in
from kwire_cli.stores import exists, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.advice import Advice, Plans, Prices
    from kwire_cli.spec.catalog import Catalog


# The messages that `kwire advise` looks at: in captures, frames, segments, log directories and request logs,
# as often as they are asked for.

STANDARD_INPUT = "standard input"


APART = "only the captures are read; give request logs alone for advice on them"


@dataclass
class Messages:
    """All inputs of a command line. They are read anew each time, so what comes through a pipe is kept in a file until
    this is closed.
    """

    environment: Environment
    catalog: Catalog
    arguments: tuple[str, ...]
    options: Options
    times: int = 0
    _piped: list[Any] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress = Progress(self.environment)
        if not self.arguments and not self.environment.stdin.isatty():
            self.arguments = ("-",)
        self.arguments = tuple(self._kept(argument) for argument in self.arguments)

    def close(self) -> None:
        """Let go of what came through pipes."""
        for file in self._piped:
            file.close()
        self.progress.done()

    def _kept(self, argument: str) -> str:
        if argument != "-" and not _is_pipe(argument):
            return argument
        kept = tempfile.NamedTemporaryFile(prefix="kwire-")  # noqa: SIM115 - closed with all others
        if argument == "-":
            shutil.copyfileobj(self.environment.stdin, kept)
        else:
            with path_of(argument).open("rb") as pipe:
                shutil.copyfileobj(pipe, kept)
        kept.flush()
        self._piped.append(kept)
        self._names[kept.name] = STANDARD_INPUT if argument == "-" else argument
        return kept.name

    def each(self) -> Iterator[Message]:
        """Every message that is wanted. InputError where an input cannot be read."""
        self.times += 1
        wanted = named(self.catalog, self.options.messages, self.options.apis)
        try:
            for message in self._all():
                if wanted is None or message.name in wanted:
                    yield message
        except InputError as error:
            if error.file not in self._names:
                raise
            raise InputError(error.reason, file=self._names[error.file], line=error.line, column=error.column) from None

    def _all(self) -> Iterator[Message]:
        """Everything as it was given, request logs last."""
        apis, logs, captured = self.options.apis, list[str](), False
        hints = Hints(self.catalog.api(apis[0]) if len(apis) == 1 else None, self.options.version, self.options.kind)
        says = Kind.FRAMES if hints.version is not None or hints.kind else None
        numbers = count()
        points = CapturePoints(self.environment, self.arguments, vars(self.options), tell=self.times == 1)
        for content in inputs(self.environment, self.arguments, "auto", catalog=self.catalog, says=says):
            if content.kind is Kind.REQUEST_LOG:
                logs.append(content.source)
                continue
            if content.kind in {Kind.BATCHES, Kind.FOLDER}:
                for file in segment_files(content):
                    yield from in_batches(self._batches(file.view, file.label, file.topic), place_of(next(numbers)))
                continue
            place = place_of(next(numbers))
            if content.kind is Kind.CAPTURE:
                captured = True
                if (capture := points.take(content.source)) is not None:
                    yield from self._capture(capture, content.source, place)
                continue
            for frame in frames_in(self.catalog, content.frames, hints):
                yield from in_frame(frame, place + frame.number)
        if captured and logs:
            if self.times == 1:
                tell_of_logs(self.environment, [self._names.get(log, log) for log in logs], APART)
            return
        for log in logs:
            yield from self._log(log, place_of(next(numbers)))

    def _batches(self, view: Any, label: str, topic: str | None) -> Iterator[Any]:

        for item in items(source_of(view, topic=self.options.as_topic or topic, catalog=self.catalog)):
            self.progress.tell(self._names.get(label, label), item.position, len(view))
            yield item

    def _capture(self, source: Any, path: Any, place: int) -> Iterator[Message]:

        name, port = self._names.get(path), self.options.port
        keys = self.options.tls_keylog
        lines = capture_lines(
            self.environment, self.catalog, source, name=name, port=port, notices=self.times == 1, key_logs=keys
        )
        yield from in_lines(
            chosen(lines, self.catalog, vars(self.options) | {"limit": None, "frames": None, "stream": ()}), [place]
        )

    def _log(self, path: str, place: int) -> Iterator[Message]:

        label = self._names.get(path, path)
        if self.options.filter:
            raise click.UsageError(f"--filter is for packet captures, and {label} is a broker's request log")
        first = self.times == 1
        exchanges = (
            entry
            for entry in read_log(self.environment, self.catalog, path, self.progress, label=label, notices=first)
            if isinstance(entry, Exchange)
        )
        left_out = LeftOut()
        for entry in in_exchanges(exchanges, Bodies(self.catalog), place):
            if isinstance(entry, Message):
                yield entry
            else:
                left_out.add(f"{label}:{entry.line}", entry)
        if first and left_out.text:
            self.environment.note(f"kwire: {left_out.text}")


def _is_pipe(argument: str) -> bool:
    return exists(argument) and path_of(argument).is_fifo()


@dataclass(frozen=True, kw_only=True)
class Options(Report, Captures, Definitions):
    """Options of `kwire advise`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    messages: tuple[str, ...] = option(
        "--message",
        "-m",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_message,
        help="Count only these messages; repeatable.",
    )
    apis: tuple[str, ...] = option(
        "--api",
        multiple=True,
        metavar="NAME|KEY",
        shell_complete=complete_api,
        help="Count only requests and responses of these apis; repeatable.",
    )
    version: int | None = option(
        "--version",
        "-n",
        type=click.IntRange(0, 32767),
        metavar="N",
        help="Name the version of a response outside a capture (with --api).",
    )
    kind: str | None = either(
        option("--request", flag_value="request", help="Read frames outside a capture as requests."),
        option("--response", flag_value="response", help="Read frames outside a capture as responses."),
    )
    filter: str | None = option(
        "--filter",
        metavar="TEXT",
        help="Count only frames that match, such as 'client ~ \"app-.*\"' (captures); see docs/filter.md.",
    )
    as_topic: str | None = option(
        "--as-topic", metavar="NAME", help="Name the topic of segments.  [default: taken from the folder's name]"
    )
    min_saving: int = option(
        "--min-saving",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="BYTES",
        help="Put only changes that save at least this many bytes into the overlay.",
    )
    half: bool = flag("--half", help="Derive the overlay from the first half of the messages; test it on all.")
    top: int | None = option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Show at most this many rows of each table.  [default: {SHOWN} for a person, all for a program]",
    )
    histograms: int = option(
        "--histograms",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        metavar="N",
        help="Draw histograms of this many integer fields.",
    )
    write_overlay: str | None = option(
        "--write-overlay",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the changes that pay as an overlay for --overlay.",
    )


@click.command(name="advise")
@takes(Options)
def command(environment: Environment, options: Options) -> None:
    """Suggest encodings and tags that would pay, from the values in captures and logs.

    INPUT is captures, frames in any form, segments, folders of a log directory (records of Kafka's internal
    topics), brokers' request logs, or - for standard input. Each integer field is priced in each encoding of
    KAFKA-9927, and each field as a tagged field (KIP-482). The changes that pay become an overlay; `kwire
    overhead --overlay` confirms what it saves.
    """
    if not options.source and environment.stdin.isatty():
        raise InputError(
            "no input: give captures, frames, segments, folders of a log directory, request logs, or - for "
            "standard input"
        )
    catalog = options.catalog
    with closing(Messages(environment, catalog, options.source, options)) as messages:
        observed = Observed(catalog)
        for message in messages.each():
            observed.add(message)
        seen = observed.seen()
        if not seen.messages:
            raise InputError(
                "this holds no message that is certain: for a response outside a capture give --api and --version; "
                "--message, --api and --filter choose among the others"
            )
        price = partial(_price, messages)
        advice = drawn(catalog, seen, price, least=options.min_saving, half=options.half)
    if options.write_overlay:
        write(environment, Path(options.write_overlay), advice)
    emit(environment, advice.answer(options.top, options.histograms), options)


def _price(messages: Messages, plans: Plans) -> Prices:
    return priced(messages.catalog, plans, messages.each())


def write(environment: Environment, file: Path, advice: Advice) -> None:
    """Write the overlay of advice to a file. Raises InputError if that is impossible."""
    try:
        file.write_text(overlay_text(advice.overlay), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    environment.note(
        f"{file}: an overlay of {len(advice.plan)} fields, which saves {advice.saved} of {advice.seen.size} bytes"
    )
