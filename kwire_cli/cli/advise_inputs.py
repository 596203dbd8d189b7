"""The messages that `kwire advise` looks at: in captures, frames, segments and log directories, as often as they are asked for."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.cli.inputs import CaptureFile, inputs
from kwire_cli.cli.progress import Progress
from kwire_cli.cli.record_inputs import holds_batches
from kwire_cli.cli.segments import bytes_of, files_of
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.spec.catalog import Catalog

STANDARD_INPUT = "standard input"


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
            with Path(argument).open("rb") as pipe:
                shutil.copyfileobj(pipe, kept)
        kept.flush()
        self._piped.append(kept)
        self._names[kept.name] = STANDARD_INPUT if argument == "-" else argument
        return kept.name

    def each(self) -> Iterator[Message]:
        """Every message, in the order of the inputs. InputError where one can't be read."""
        self.times += 1
        wanted = self._wanted()
        try:
            for message in self._all():
                if wanted is None or message.name in wanted:
                    yield message
        except InputError as error:
            if error.file not in self._names:
                raise
            raise InputError(error.reason, file=self._names[error.file], line=error.line, column=error.column) from None

    def _wanted(self) -> frozenset[str] | None:
        names = [self.catalog.entry(name).name for name in self.options["messages"]]
        for text in self.options["apis"]:
            api = self.catalog.api(text)
            names += [name for name in (api.request, api.response) if name]
        return frozenset(names) if self.options["messages"] or self.options["apis"] else None

    def _all(self) -> Iterator[Message]:
        from kwire_cli.cost.advice.messages import in_batches, in_frame
        from kwire_cli.message.frames import Hints
        from kwire_cli.source.frames import frames_in

        others: tuple[str, ...] = ()
        for argument in self.arguments:
            if holds_batches(argument):
                for file in files_of(self.environment, (argument,)):
                    yield from in_batches(self._batches(bytes_of(self.environment, file), file.label, file.topic))
            else:
                others += (argument,)
        if not others and self.arguments:
            return
        apis = self.options["apis"]
        hints = Hints(self.catalog.api(apis[0]) if len(apis) == 1 else None, self.options["version"], self.options["kind"])
        for _, found in inputs(self.environment, others, "auto", verbose=False, bodies=False, follow=False):
            if isinstance(found, CaptureFile):
                yield from self._capture(str(found.source))
                continue
            for frame in frames_in(self.catalog, found, hints):
                yield from in_frame(frame)

    def _batches(self, view: Any, label: str, topic: str | None) -> Iterator[Any]:
        from kwire_cli.records.opening import items, source_of

        for item in items(source_of(view, topic=self.options["as_topic"] or topic, catalog=self.catalog)):
            self.progress.tell(self._names.get(label, label), item.position, len(view))
            yield item

    def _capture(self, path: str) -> Iterator[Message]:
        from kwire_cli.cli.capture_lines import capture_lines
        from kwire_cli.cli.captures import chosen
        from kwire_cli.cost.advice.messages import in_lines

        name, port = self._names.get(path), self.options["port"]
        keys = self.options["tls_keylog"]
        lines = capture_lines(self.environment, self.catalog, path, name=name, port=port, notices=self.times == 1, key_logs=keys)
        yield from in_lines(chosen(lines, self.catalog, self.options | {"limit": None, "frames": None, "stream": ()}))


def _is_pipe(argument: str) -> bool:
    try:
        return Path(argument).is_fifo()
    except (OSError, ValueError):
        return False
