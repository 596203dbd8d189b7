"""Destinations of results: a terminal with a pager, or a file.

`Screen` starts the pager at the first result, so that a command without results does not start it. `ResultFile` writes
to a temporary file next to the target and renames it at the end. The target is therefore never incomplete, and it may
be an input of the same command.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGERS = ("KWIRE_PAGER", "PAGER")
"""Environment variables for the command of the pager, in order of precedence. The default is DEFAULT."""
DEFAULT = "less"
PAGER_SETTINGS = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}
"""Default settings of pagers, as in git: show colours, and exit at once if the results fit on the screen."""
NO_PAGER = ("", "cat")
NOT_RUN = (126, 127)
"""Exit codes of a shell that cannot run a command."""
_SHELL_SYNTAX = re.compile(r"[|&;<>()$`\\\"'*?\[#~=%]")


class Screen:
    """A terminal as the destination of results. The first result calls `before`, and starts the pager if `paged`.

    Without a pager, or if the pager cannot be started, results go directly to the terminal.
    """

    def __init__(
        self, terminal: IO[bytes], variables: Mapping[str, str], before: Callable[[], None], *, paged: bool
    ) -> None:
        self._terminal = terminal
        self._variables = variables
        self._before = before
        self.paged = paged
        self._out: IO[bytes] | None = None
        self._pager: int | None = None

    @property
    def is_taken(self) -> bool:
        """Return whether results were written."""
        return self._out is not None

    @property
    def has_pager(self) -> bool:
        """Return whether a pager has the terminal."""
        return self._pager is not None

    def write(self, data: bytes) -> int:
        """Write results."""
        return (self._out or self._open()).write(data)

    def flush(self) -> None:
        """Flush the results."""
        if self._out:
            self._out.flush()

    def isatty(self) -> bool:
        """Return True: this is a terminal."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._terminal.fileno()

    def _open(self) -> IO[bytes]:
        self._before()
        command = pager_of(self._variables) if self.paged else None
        self._out = (command and self._start_pager(command)) or self._terminal
        return self._out

    def _start_pager(self, command: list[str]) -> IO[bytes] | None:
        """Start the pager and return a pipe to it, or None if it cannot be started."""
        try:
            terminal = self._terminal.fileno()
            self._terminal.flush()
        except OSError:  # a terminal in memory
            return None
        end, begin = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, end, 0), (os.POSIX_SPAWN_DUP2, terminal, 1)]
        variables = {**PAGER_SETTINGS, **self._variables}
        try:
            self._pager = os.posix_spawnp(
                command[0], command, variables, file_actions=actions, setsigdef=[signal.SIGPIPE]
            )
        except OSError:
            os.close(begin)
            return None
        finally:
            os.close(end)
        return os.fdopen(begin, "wb")

    def close(self) -> None:
        """Wait until the user leaves the pager. Raise OSError if the pager could not be run.

        In the meantime this process ignores Ctrl-C, which pagers handle themselves. So the pager never outlives kwire.
        """
        if self._pager is None or self._out is None:
            return
        pager = self._pager
        self._pager = None
        with _without_interrupts():
            with contextlib.suppress(OSError):  # the user left the pager early
                self._out.close()
            _, status = os.waitpid(pager, 0)
        if os.waitstatus_to_exitcode(status) in NOT_RUN:
            raise OSError(0, f"the pager cannot be run: {_pager_command(self._variables)}")


def pager_of(variables: Mapping[str, str]) -> list[str] | None:
    """Return the command of the pager as words, or None if no pager is wanted.

    A command with shell syntax is run by a shell.
    """
    text = _pager_command(variables)
    if text.strip() in NO_PAGER or variables.get("TERM") == "dumb" or not hasattr(os, "posix_spawnp"):
        return None
    return ["sh", "-c", text] if _SHELL_SYNTAX.search(text) else text.split()


def _pager_command(variables: Mapping[str, str]) -> str:
    for name in PAGERS:
        if name in variables:
            return variables[name]
    return DEFAULT


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C within the context. This has no effect outside the main thread."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def whole_terminal() -> Iterator[int]:
    """Switch the terminal to its alternate screen within the context, and yield its descriptor.

    Keys can be read from the descriptor one by one, without echo, even if standard input is a pipe.
    """
    import termios  # not on Windows
    import tty

    terminal = os.open("/dev/tty", os.O_RDWR)
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        os.write(terminal, b"\x1b[?1049h\x1b[?25l")
        yield terminal
    finally:
        os.write(terminal, b"\x1b[?25h\x1b[?1049l")
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.close(terminal)


class ResultFile:
    """A file of results, which appears when all results are written. Until then, the old file can be an input.

    A `live` file is written directly, and so are devices and pipes. Raises OSError if the file cannot be written.
    """

    def __init__(self, path: str, *, live: bool = False) -> None:
        self._target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
        self._part: Path | None = None
        if live or (self._target.exists() and not self._target.is_file()):
            self._file: IO[bytes] = self._target.open("wb")
            return
        part = self._target.with_name(f".kwire-{os.getpid()}.part")
        try:
            self._file = part.open("xb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        self._part = part
        if self._target.exists():
            part.chmod(self._target.stat().st_mode & 0o7777)

    def write(self, data: bytes) -> int:
        """Write results."""
        return self._file.write(data)

    def flush(self) -> None:
        """Write buffered results."""
        self._file.flush()

    def isatty(self) -> bool:
        """Return False: this is a file."""
        return False

    def finish(self) -> None:
        """Move the complete file to its target."""
        self._file.flush()
        if self._part:
            self._part.replace(self._target)
            self._part = None

    def close(self) -> None:
        """Close the file. An unfinished file is removed, and the old file remains.

        Closing writes buffered results, which may fail on a full disk.
        """
        try:
            self._file.close()
        finally:
            if self._part:
                self._part.unlink(missing_ok=True)
