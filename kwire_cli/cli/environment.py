"""Streams, colours, exit codes and progress."""

from __future__ import annotations

import contextlib
import enum
import io
import os
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from kwire_cli.errors import without_queries
from kwire_cli.view.lines import STYLES, escaped, json_escaped, without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.view.lines import Line


# What a command runs in: its streams, whether they are terminals, and whether colours are wanted. Passed in,
# so that tests need no terminal.


class Exit(enum.IntEnum):
    """Exit codes."""

    DONE = 0
    FOUND = 1
    """What was asked about was found: differences, lint errors, anomalies under --strict."""
    FAILED = 2
    """Wrong usage, unreadable input, nothing decodable."""
    INTERRUPTED = 130


class Outcome(NamedTuple):
    """Outcome of reading the inputs.

    `decodable`: there was a line, or no line was requested. `anomalies`, looked for with --strict: a line has an
    anomaly, or a file ends early. `empty`: there was a selection that matches nothing.
    """

    decodable: bool
    anomalies: bool
    empty: bool


class ClosedPipeError(Exception):
    """Whoever read the results has enough. Not a BrokenPipeError, which click makes exit code 1 of."""


class UnwritableError(Exception):
    """The results cannot be written: a full disk, say."""


def _stream(stream: TextIO | None) -> IO[bytes]:
    """The bytes below one of Python's standard streams, which is None where the process was started with it closed."""
    return io.BytesIO() if stream is None else stream.buffer


@dataclass
class Environment:
    """Binary streams, and the process's environment variables."""

    stdin: IO[bytes] = field(default_factory=lambda: _stream(sys.stdin))
    stdout: IO[bytes] = field(default_factory=lambda: _stream(sys.stdout))
    stderr: IO[bytes] = field(default_factory=lambda: _stream(sys.stderr))
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    colour: str = "auto"
    raw_csv: bool = False
    """Whether cells of csv that a spreadsheet would run stay as they are."""

    @cached_property
    def to_terminal(self) -> bool:
        """Return whether results go to a terminal."""
        return self.stdout.isatty()

    @property
    def width(self) -> int | None:
        """Return the columns of the terminal that results go to; None if they go elsewhere."""
        if not self.to_terminal:
            return None
        said = self.variables.get("COLUMNS", "")
        if said.isdigit() and int(said) > 0:
            return int(said)
        try:  # as shutil, which start-up does not import: it brings archives and their codecs
            return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            return 80

    def write_to(self, path: str) -> None:
        """Write the results to a file from now on. The file is closed when the command ends."""
        before, file = self.stdout, Path(path).open("wb")  # noqa: SIM115 - closed with the command

        def close() -> None:
            self.stdout = before
            self.__dict__.pop("to_terminal", None)
            file.close()

        click.get_current_context().call_on_close(close)
        self.stdout = file
        self.__dict__.pop("to_terminal", None)

    @property
    def in_colour(self) -> bool:
        """Return whether results are in colour.

        The requested setting comes first, then FORCE_COLOR and NO_COLOR. By default, results are in colour on a
        terminal that supports colours.
        """
        if self.colour != "auto":
            return self.colour == "always"
        if self.variables.get("FORCE_COLOR"):
            return True
        return not self.variables.get("NO_COLOR") and self.variables.get("TERM") != "dumb" and self.to_terminal

    def write(self, text: str) -> None:
        """A line of results, or several."""
        self.write_text(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_csv(self, cells: Sequence[Any]) -> None:
        """A row of csv."""
        from kwire_cli.view.tables import csv_row

        self.write(csv_row(cells, raw=self.raw_csv))

    def write_painted(self, text: str) -> None:
        """Text for eyes whose only control characters are those of its own colours."""
        self.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_text(self, text: bytes) -> None:
        """Results that are UTF-8 text with its line ends. On a terminal what would act on it is escaped as JSON does
        it.
        """
        self.write_bytes(_escaped(text.decode("utf-8", "surrogateescape")) if self.to_terminal else text)

    def write_bytes(self, data: bytes) -> None:
        """Results as they are."""
        try:
            self.stdout.write(data)
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None

    def write_lines(self, lines: Iterable[Line]) -> None:
        """Styled lines, in colour where that is wanted. They are for eyes, wherever they go: nothing in them acts on a
        terminal.
        """
        if self.in_colour:
            paint = _painter()
            for line in lines:
                painted = "".join([paint(text, style) for text, style in without_control(line)])
                self.write_bytes(painted.encode("utf-8", "backslashreplace") + b"\n")
            return
        for some in _batches(lines, 256):
            texts = ["".join([text for text, _ in line]).rstrip(" ") for line in some]
            self.write("\n".join([escaped(text) for text in texts]))

    def note(self, text: str) -> None:
        """A remark on standard error."""
        with contextlib.suppress(OSError):  # a remark that nobody can read changes no result
            self.stderr.write(_escaped(without_queries(text)) + b"\n")
            self.stderr.flush()

    def flush(self) -> None:
        """Send out what was written."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _escaped(text: str) -> bytes:
    return json_escaped(text).encode("utf-8", "backslashreplace")


def _batches(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    rest = iter(lines)
    while some := list(islice(rest, size)):
        yield some


def _painter() -> Any:
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(text) for name, text in STYLES.items()}
    return lambda text, style: styles[style].render(text, color_system=ColorSystem.STANDARD) if style else text


# How far a long run is: a line on standard error that is written over, on a terminal that shows nothing else.

AFTER, EVERY = 1.0, 0.5
"""Seconds until something is said, and between that and more."""


class Progress:
    """Says nothing in a run that is short, or whose results are on the terminal themselves."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.begun, self.told = time.monotonic(), 0.0
        self.wanted = environment.stderr.isatty() and not environment.to_terminal

    def tell(self, label: str, at: int, size: int) -> None:
        """`at` of `size` bytes are read; nothing is said where nobody knows how many there are."""
        now = time.monotonic()
        if self.wanted and size and now - max(self.begun + AFTER - EVERY, self.told) >= EVERY:
            self.told = now
            [(text, _)] = without_control([(label, "")])
            self._write(f"\r\x1b[K{text}: {100 * at // size} %")

    def done(self) -> None:
        """Take it away."""
        if self.told:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.environment.stderr.write(text.encode("utf-8", "backslashreplace"))
            self.environment.stderr.flush()
