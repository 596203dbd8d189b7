"""The messages that `kwire advise` looks at: in captures, frames, segments, log directories and request logs, as often as they are asked for."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.capture_lines import CapturePoints
from kwire_cli.cli.inputs import inputs
from kwire_cli.cli.progress import Progress
from kwire_cli.cli.request_logs import tell_of_logs
from kwire_cli.cli.segments import segment_files
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.stores import exists, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.spec.catalog import Catalog

STANDARD_INPUT = "standard input"
APART = "only the captures are read; give request logs alone for advice on them"


@dataclass
class Messages:
    """All inputs of a command line. They are read anew each time, so what comes through a pipe is kept in a file until this is closed."""

    environment: Environment
    catalog: Catalog
    arguments: tuple[str, ...]
    options: dict[str, Any]
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
        from kwire_cli.cost.advice.messages import named

        self.times += 1
        wanted = named(self.catalog, self.options["messages"], self.options["apis"])
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
        from kwire_cli.cost.advice.messages import in_batches, in_frame, place_of
        from kwire_cli.message.frames import Hints
        from kwire_cli.source.frames import frames_in

        apis, logs, captured = self.options["apis"], list[str](), False
        hints = Hints(self.catalog.api(apis[0]) if len(apis) == 1 else None, self.options["version"], self.options["kind"])
        says = Kind.FRAMES if hints.version is not None or hints.kind else None
        numbers = count()
        points = CapturePoints(self.environment, self.arguments, self.options, tell=self.times == 1)
        for found in inputs(self.environment, self.arguments, "auto", catalog=self.catalog, says=says):
            if found.kind is Kind.REQUEST_LOG:
                logs.append(found.source)
                continue
            if found.kind in {Kind.BATCHES, Kind.FOLDER}:
                for file in segment_files(found):
                    yield from in_batches(self._batches(file.view, file.label, file.topic), place_of(next(numbers)))
                continue
            place = place_of(next(numbers))
            if found.kind is Kind.CAPTURE:
                captured = True
                if (capture := points.take(found.source)) is not None:
                    yield from self._capture(capture, found.source, place)
                continue
            for frame in frames_in(self.catalog, found.frames, hints):
                yield from in_frame(frame, place + frame.number)
        if captured and logs:
            if self.times == 1:
                tell_of_logs(self.environment, [self._names.get(log, log) for log in logs], APART)
            return
        for log in logs:
            yield from self._log(log, place_of(next(numbers)))

    def _batches(self, view: Any, label: str, topic: str | None) -> Iterator[Any]:
        from kwire_cli.records.opening import items, source_of

        for item in items(source_of(view, topic=self.options["as_topic"] or topic, catalog=self.catalog)):
            self.progress.tell(self._names.get(label, label), item.position, len(view))
            yield item

    def _capture(self, source: Any, path: Any, place: int) -> Iterator[Message]:
        from kwire_cli.cli.capture_lines import capture_lines
        from kwire_cli.cli.captures import chosen
        from kwire_cli.cost.advice.messages import in_lines

        name, port = self._names.get(path), self.options["port"]
        keys = self.options["tls_keylog"]
        lines = capture_lines(self.environment, self.catalog, source, name=name, port=port, notices=self.times == 1, key_logs=keys)
        yield from in_lines(chosen(lines, self.catalog, self.options | {"limit": None, "frames": None, "stream": ()}), [place])

    def _log(self, path: str, place: int) -> Iterator[Message]:
        from kwire_cli.cli.request_logs import read_log
        from kwire_cli.cost.advice.messages import Message, in_exchanges
        from kwire_cli.source.request_log.bodies import Bodies, LeftOut
        from kwire_cli.source.request_log.exchange import Exchange

        label = self._names.get(path, path)
        if self.options["filter"]:
            raise click.UsageError(f"--filter is for packet captures, and {label} is a broker's request log")
        first = self.times == 1
        exchanges = (
            found
            for found in read_log(self.environment, self.catalog, path, self.progress, label=label, notices=first)
            if isinstance(found, Exchange)
        )
        left_out = LeftOut()
        for found in in_exchanges(exchanges, Bodies(self.catalog), place):
            if isinstance(found, Message):
                yield found
            else:
                left_out.add(f"{label}:{found.line}", found)
        if first and left_out.text:
            self.environment.note(f"kwire: {left_out.text}")


def _is_pipe(argument: str) -> bool:
    return exists(argument) and path_of(argument).is_fifo()
