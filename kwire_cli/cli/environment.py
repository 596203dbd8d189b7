"""The environment of a command: streams, terminals, colours, exit codes and Ctrl-C.

A command receives an `Environment` and writes only through it. Results go to a terminal, a pipe or a file, and notes to
standard error. The streams are arguments, so that tests need no terminal. The first Ctrl-C ends reading, so that the
answer so far can be written.
"""

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
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import click

from kwire_cli.cli.outputs import ResultFile, Screen
from kwire_cli.cli.progress import Progress
from kwire_cli.errors import KwireError, without_credentials
from kwire_cli.view.lines import STYLES, escaped, escaped_lines, json_escaped, plain, without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.view.lines import Line


GRACE = 0.5
"""Seconds after Ctrl-C in which the reader must check the flag."""


class Interrupt:
    """Flag that is true after Ctrl-C was pressed.

    The first Ctrl-C only sets the flag, so that the answer so far can still be written. KeyboardInterrupt is raised at
    the second Ctrl-C, and if no code has checked the flag within GRACE seconds.
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
        """Return a context in which Ctrl-C sets the flag. At its end, raise KeyboardInterrupt if the flag was checked.

        If Ctrl-C is ignored, as in a background job, it remains ignored.
        """
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._set_flag)
        try:
            yield
        finally:
            _set_alarm(0)
            signal.signal(signal.SIGINT, before)
        if self.is_seen:
            raise KeyboardInterrupt

    def _set_flag(self, *_: object) -> None:
        self.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _set_alarm(GRACE)


def _set_alarm(seconds: float) -> None:
    """Raise KeyboardInterrupt after this many seconds, or cancel the alarm if 0. Windows has no alarms."""
    if not hasattr(signal, "setitimer"):
        return
    if seconds:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)


class Exit(enum.IntEnum):
    """Exit codes."""

    DONE = 0
    FOUND = 1
    """The command found differences, lint errors, or with --strict anomalies."""
    FAILED = 2
    """Wrong usage, unreadable input, nothing decodable."""
    INTERRUPTED = 130


class ClosedPipeError(Exception):
    """The reader of stdout closed the pipe. This is not a BrokenPipeError, which click converts to exit code 1."""


class UnwritableError(Exception):
    """The results cannot be written, for example because the disk is full."""


def _binary_stream(stream: TextIO | None) -> IO[bytes]:
    """Return the binary stream of a standard stream, which is None if it was closed when the process started."""
    return io.BytesIO() if stream is None else stream.buffer


@dataclass
class Environment:
    """Binary streams, and the process's environment variables."""

    stdin: IO[bytes] = field(default_factory=lambda: _binary_stream(sys.stdin))
    stdout: IO[bytes] = field(default_factory=lambda: _binary_stream(sys.stdout))
    stderr: IO[bytes] = field(default_factory=lambda: _binary_stream(sys.stderr))
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    has_unread: bool = False
    """True if a file of a folder could not be read."""
    _waiting_remarks: list[bytes] = field(default_factory=list)
    """Remarks that are written when the pager leaves the terminal."""

    @cached_property
    def progress(self) -> Progress:
        """The progress of the command."""
        return Progress(self.stderr, self._has_room, colour=not self.variables.get("NO_COLOR"))

    def _has_room(self) -> bool:
        """Return whether standard error is a terminal that does not show results."""
        return self.stderr.isatty() and (not self.to_terminal or bool(self.screen and not self.screen.is_taken))

    @cached_property
    def interrupt(self) -> Interrupt:
        """The flag for Ctrl-C, used within `answering`."""
        return Interrupt()

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Return a context in which Ctrl-C ends the reading of inputs, so that the answer so far is written.

        Raises KeyboardInterrupt at its end, with the amount that was read. A second Ctrl-C ends the command at once.
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
        """Return the terminal of the results, or None if they go elsewhere."""
        return self.stdout if isinstance(self.stdout, Screen) else None

    def use_terminal(self, *, paged: bool) -> None:
        """Write results that go to a terminal through a pager if `paged`, until `close`."""
        if self.to_terminal and not self.screen:
            screen = Screen(self.stdout, self.variables, self.progress.hide, paged=paged)
            self.stdout = cast("IO[bytes]", screen)

    def close(self) -> None:
        """Wait until the user leaves the pager, then write the remarks that arrived in the meantime."""
        self.progress.hide()
        try:
            if self.screen:
                self.screen.close()
        except OSError as error:
            raise UnwritableError(error.strerror) from None
        finally:
            for remark in self._waiting_remarks:
                self._write_remark(remark)
            self._waiting_remarks.clear()

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
        """Return the columns of the terminal of the results, or None if they go elsewhere."""
        return self._columns(sys.__stdout__) if self.to_terminal else None

    def _columns(self, stream: TextIO | None) -> int:
        """Return the columns of the terminal of a stream."""
        columns = self.variables.get("COLUMNS", "")
        if columns.isdigit() and int(columns) > 0:
            return int(columns)
        try:  # like shutil.get_terminal_size; shutil imports archives and codecs, which slows start-up
            return os.get_terminal_size(stream.fileno()).columns or 80  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            return 80

    def write_to(self, path: str, *, live: bool = False) -> None:
        """Write the following results to a file, which is closed when the command ends.

        The file appears only once it is complete, except for `live` results, which are written at once.
        """
        before = self.stdout
        file = ResultFile(path, live=live)

        def close() -> None:
            self.stdout = before
            self.__dict__.pop("to_terminal", None)
            file.close()

        click.get_current_context().call_on_close(close)
        self.stdout = cast("IO[bytes]", file)
        self.__dict__.pop("to_terminal", None)

    @property
    def in_colour(self) -> bool:
        """Return whether results are in colour: FORCE_COLOR and NO_COLOR decide, otherwise the terminal."""
        if self.variables.get("FORCE_COLOR"):
            return True
        return not self.variables.get("NO_COLOR") and self.variables.get("TERM") != "dumb" and self.to_terminal

    def write(self, text: str) -> None:
        """Write one or more lines of results, and a line end."""
        self.write_text(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_csv(self, cells: Sequence[Any]) -> None:
        """Write a row of CSV."""
        from kwire_cli.view.tables import csv_row

        self.write(csv_row(cells))

    def write_painted(self, text: str) -> None:
        """Write a string for display. Its only control characters set colours."""
        self.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")

    def write_text(self, text: bytes) -> None:
        """Write results in UTF-8, which include their line ends. On a terminal, control characters are JSON-escaped."""
        self.write_bytes(_encode(json_escaped(text.decode("utf-8", "surrogateescape"))) if self.to_terminal else text)

    def write_bytes(self, data: bytes) -> None:
        """Write results unchanged."""
        try:
            self.stdout.write(data)
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None

    def write_lines(self, lines: Iterable[Line], *, folded: bool = True) -> None:
        """Write styled lines for display, with or without colours. Control characters are escaped.

        Lines that are longer than the terminal are folded if `folded`.
        """
        if folded and (width := self.width):
            lines = _fold(lines, width)
        if self.in_colour:
            paint = _make_painter()
            for line in lines:
                painted = "".join([paint(text, style) for text, style in without_control(line)])
                self.write_bytes(painted.encode("utf-8", "backslashreplace") + b"\n")
            return
        for batch in _split_into_batches(lines, 256):
            self.write("\n".join([escaped(plain(line).rstrip(" ")) for line in batch]))

    def note(self, text: str) -> None:
        """Write a remark on standard error, folded on a terminal. While a pager has the terminal, the remark waits."""
        text = escaped_lines(without_credentials(text))
        if self.stderr.isatty():
            lines = _fold(([(line, "")] for line in text.split("\n")), self._columns(sys.__stderr__))
            text = "\n".join(map(plain, lines))
        remark = _encode(text) + b"\n"
        if self.screen and self.screen.has_pager and self.stderr.isatty():
            self._waiting_remarks.append(remark)
        else:
            self.progress.hide()
            self._write_remark(remark)

    def _write_remark(self, remark: bytes) -> None:
        with contextlib.suppress(OSError):  # the results do not depend on remarks
            self.stderr.write(remark)
            self.stderr.flush()

    def finish(self) -> None:
        """End the results of a successful command. A named file is created even without results."""
        if isinstance(self.stdout, ResultFile):
            self.stdout.finish()
        self.flush()

    def flush(self) -> None:
        """Flush the results."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _fold(lines: Iterable[Line], width: int) -> Iterable[Line]:
    from kwire_cli.view.widths import folded  # only for terminals

    return folded(lines, width)


def _split_into_batches(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    rest = iter(lines)
    while batch := list(islice(rest, size)):
        yield batch


def _make_painter() -> Any:
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(text) for name, text in STYLES.items()}
    return lambda text, style: styles[style].render(text, color_system=ColorSystem.STANDARD) if style else text
