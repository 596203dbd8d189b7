"""Streams, colours, exit codes and Ctrl-C."""

from __future__ import annotations

import contextlib
import enum
import io
import os
import signal
import stat
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO, cast

import click

from kwire_cli.cli.outputs import ResultFile, Screen
from kwire_cli.cli.progress import Progress
from kwire_cli.errors import KwireError, without_credentials
from kwire_cli.view.lines import STYLES, escaped, escaped_lines, json_escaped, without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.view.lines import Line


GRACE = 0.5
"""Seconds from Ctrl-C until reading has to stop by itself."""


class Interrupt:
    """Flag that is true once Ctrl-C was pressed.

    The first Ctrl-C only sets the flag, so that the answer up to there can still be written. If nobody has looked at
    the flag after GRACE seconds, and at the second Ctrl-C, KeyboardInterrupt is raised as always.
    """

    def __init__(self) -> None:
        self.came = False
        self.is_seen = False

    def __bool__(self) -> bool:
        if self.came and not self.is_seen:
            self.is_seen = True
            _set_alarm(0)
        return self.came

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within this, Ctrl-C sets the flag; at its end, KeyboardInterrupt is raised if somebody has seen the flag.

        Where Ctrl-C is ignored, as in a background job, it stays so.
        """
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._keep)
        try:
            yield
        finally:
            _set_alarm(0)
            signal.signal(signal.SIGINT, before)
        if self.is_seen:
            raise KeyboardInterrupt

    def _keep(self, *_: object) -> None:
        self.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _set_alarm(GRACE)


def _set_alarm(seconds: float) -> None:
    """Raise KeyboardInterrupt after some seconds; 0 cancels that. Windows has no such alarm."""
    if not hasattr(signal, "setitimer"):
        return
    if seconds:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)


# What a command runs in: its streams, whether they are terminals, and whether colours are wanted. Passed in,
# so that tests need no terminal.


class Exit(enum.IntEnum):
    """Exit codes."""

    DONE = 0
    FOUND = 1
    """The command found what it was asked about: differences, lint errors, anomalies under --strict."""
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
    has_unread: bool = False
    """True if a file of a folder could not be read."""
    _kept: list[bytes] = field(default_factory=list)
    """Remarks for a terminal that a pager has."""

    @cached_property
    def progress(self) -> Progress:
        """The progress of the command."""
        return Progress(self.stderr, self._has_room, colour=not self.variables.get("NO_COLOR"))

    def _has_room(self) -> bool:
        """Return whether standard error is a terminal on which there are no results."""
        return self.stderr.isatty() and (not self.to_terminal or bool(self.screen and not self.screen.is_taken))

    @cached_property
    def interrupt(self) -> Interrupt:
        """The sign that Ctrl-C was pressed, within `answering`."""
        return Interrupt()

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Within this, Ctrl-C ends the reading of inputs, so that the answer up to there is written.

        Raises KeyboardInterrupt in the end, which says how much was read. A second Ctrl-C ends the command at once.
        """
        is_answered = False
        try:
            with self.interrupt.watched():
                yield
                is_answered = True
        except KeyboardInterrupt:
            if not is_answered:
                raise
            self.finish()
            read = f" after {self.progress.text}; this is what was read so far" if self.progress.passed else ""
            raise KeyboardInterrupt(f"interrupted{read}") from None
        except KwireError:
            if self.interrupt:  # there is no answer yet
                raise KeyboardInterrupt from None
            raise

    @property
    def screen(self) -> Screen | None:
        """Return the terminal that results go to; None if they go elsewhere."""
        return self.stdout if isinstance(self.stdout, Screen) else None

    def use_terminal(self, *, paged: bool) -> None:
        """Write results that go to a terminal through a pager if `paged`, until `close`."""
        if self.to_terminal and not self.screen:
            screen = Screen(self.stdout, self.variables, self.progress.hide, paged=paged)
            self.stdout = cast("IO[bytes]", screen)

    def close(self) -> None:
        """Wait until the person leaves the pager, then write the remarks that came meanwhile."""
        self.progress.hide()
        try:
            if self.screen:
                self.screen.close()
        except OSError as error:
            raise UnwritableError(error.strerror) from None
        finally:
            for remark in self._kept:
                self._remark(remark)
            self._kept.clear()

    @cached_property
    def to_terminal(self) -> bool:
        """Return whether results go to a terminal."""
        return self.stdout.isatty()

    @property
    def has_input(self) -> bool:
        """Return whether standard input is a pipe or a file, and not a terminal or a device such as /dev/null."""
        try:
            mode = os.fstat(self.stdin.fileno()).st_mode
        except (OSError, ValueError):  # a stream of memory, or one that is closed
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)

    @property
    def width(self) -> int | None:
        """Return the columns of the terminal that results go to; None if they go elsewhere."""
        return self._columns(sys.__stdout__) if self.to_terminal else None

    def _columns(self, stream: TextIO | None) -> int:
        """Return the columns of the terminal that a stream goes to."""
        said = self.variables.get("COLUMNS", "")
        if said.isdigit() and int(said) > 0:
            return int(said)
        try:  # as shutil, which start-up does not import: it brings archives and their codecs
            return os.get_terminal_size(stream.fileno()).columns or 80  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            return 80

    def write_to(self, path: str, *, live: bool = False) -> None:
        """Write the results to a file from now on, which is complete or not there; `live` ones as they come.

        The file is closed when the command ends.
        """
        before, file = self.stdout, ResultFile(path, live=live)

        def close() -> None:
            self.stdout = before
            self.__dict__.pop("to_terminal", None)
            file.close()

        click.get_current_context().call_on_close(close)
        self.stdout = cast("IO[bytes]", file)
        self.__dict__.pop("to_terminal", None)

    @property
    def in_colour(self) -> bool:
        """Return whether results are in colour: by FORCE_COLOR and NO_COLOR, else on a terminal that has colours."""
        if self.variables.get("FORCE_COLOR"):
            return True
        return not self.variables.get("NO_COLOR") and self.variables.get("TERM") != "dumb" and self.to_terminal

    def write(self, text: str) -> None:
        """A line of results, or several."""
        self.write_text(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_csv(self, cells: Sequence[Any]) -> None:
        """A row of csv."""
        from kwire_cli.view.tables import csv_row

        self.write(csv_row(cells))

    def write_painted(self, text: str) -> None:
        """Text for eyes whose only control characters are those of its own colours."""
        self.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_text(self, text: bytes) -> None:
        """Results that are UTF-8 text with its line ends. On a terminal what would act on it is escaped as JSON does
        it.
        """
        self.write_bytes(_encoded(json_escaped(text.decode("utf-8", "surrogateescape"))) if self.to_terminal else text)

    def write_bytes(self, data: bytes) -> None:
        """Results as they are."""
        try:
            self.stdout.write(data)
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None

    def write_lines(self, lines: Iterable[Line], *, folded: bool = True) -> None:
        """Write styled lines for eyes, in colour where that is wanted: nothing in them acts on a terminal.

        Lines that are longer than the terminal are folded, unless the caller has laid them out.
        """
        if folded and (width := self.width):
            lines = _folded(lines, width)
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
        """Write a remark on standard error, folded on a terminal. While a pager has the terminal, the remark waits."""
        text = escaped_lines(without_credentials(text))
        if self.stderr.isatty():
            lines = _folded(([(line, "")] for line in text.split("\n")), self._columns(sys.__stderr__))
            text = "\n".join("".join([part for part, _ in line]) for line in lines)
        remark = _encoded(text) + b"\n"
        if self.screen and self.screen.has_pager and self.stderr.isatty():
            self._kept.append(remark)
        else:
            self.progress.hide()
            self._remark(remark)

    def _remark(self, remark: bytes) -> None:
        with contextlib.suppress(OSError):  # a remark that nobody can read changes no result
            self.stderr.write(remark)
            self.stderr.flush()

    def finish(self) -> None:
        """End the results of a command that has done its work. A named file is there even without results."""
        if isinstance(self.stdout, ResultFile):
            self.stdout.finish()
        self.flush()

    def flush(self) -> None:
        """Send out what was written."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _folded(lines: Iterable[Line], width: int) -> Iterable[Line]:
    from kwire_cli.view.widths import folded  # only for terminals

    return folded(lines, width)


def _batches(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    rest = iter(lines)
    while some := list(islice(rest, size)):
        yield some


def _painter() -> Any:
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(text) for name, text in STYLES.items()}
    return lambda text, style: styles[style].render(text, color_system=ColorSystem.STANDARD) if style else text
