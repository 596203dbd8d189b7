"""The places of results: a terminal, on which what is longer than the screen goes through a pager, or a file."""

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
"""Environment variables that name the pager, the first one first; without them it is DEFAULT."""
DEFAULT = "less"
PAGER_SETTINGS = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}
"""The default settings of pagers, as git has them: show colours, and leave at once what fits on the screen."""
NO_PAGER = ("", "cat")
NOT_RUN = (126, 127)
"""Exit codes of a shell that cannot run a command."""
_FOR_SHELLS = re.compile(r"[|&;<>()$`\\\"'*?\[#~=%]")


class Screen:
    """A terminal as the place of results. The first result calls `before`, and starts the pager if `paged`.

    Without a pager, or if it cannot be started, results go straight to the terminal.
    """

    def __init__(
        self, terminal: IO[bytes], variables: Mapping[str, str], before: Callable[[], None], *, paged: bool
    ) -> None:
        self._terminal, self._variables, self._before, self.paged = terminal, variables, before, paged
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
        return (self._out or self._begun()).write(data)

    def flush(self) -> None:
        """Send out what was written."""
        if self._out:
            self._out.flush()

    def isatty(self) -> bool:
        """Return True: this is a terminal."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._terminal.fileno()

    def _begun(self) -> IO[bytes]:
        self._before()
        command = pager_of(self._variables) if self.paged else None
        self._out = (command and self._piped(command)) or self._terminal
        return self._out

    def _piped(self, command: list[str]) -> IO[bytes] | None:
        """Start the pager and return what writes to it; None if it cannot be started."""
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
        """Wait until the person leaves the pager. Raise OSError if the pager could not be run.

        Ctrl-C is for the pager meanwhile: it stays until it is left, and no process stays behind.
        """
        if self._pager is None or self._out is None:
            return
        pager, self._pager = self._pager, None
        with _without_interrupts():
            with contextlib.suppress(OSError):  # it was left early
                self._out.close()
            _, status = os.waitpid(pager, 0)
        if os.waitstatus_to_exitcode(status) in NOT_RUN:
            raise OSError(0, f"the pager cannot be run: {_named(self._variables)}")


def pager_of(variables: Mapping[str, str]) -> list[str] | None:
    """Return the words of the pager's command; None if there is to be no pager.

    A command with characters that only a shell understands is given to a shell.
    """
    text = _named(variables)
    if text.strip() in NO_PAGER or variables.get("TERM") == "dumb" or not hasattr(os, "posix_spawnp"):
        return None
    return ["sh", "-c", text] if _FOR_SHELLS.search(text) else text.split()


def _named(variables: Mapping[str, str]) -> str:
    return next((variables[name] for name in PAGERS if name in variables), DEFAULT)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C within this; outside the main thread nothing changes."""
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
    """Within this, the terminal shows its second screen, and gives keys one by one without showing them.

    Keys can be read from the descriptor, also if standard input is a pipe.
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
    """A file of results, which takes its place when all of them are written. Until then it may be an input.

    A `live` file is written to directly, as are devices and pipes. Raises OSError if the file cannot be written.
    """

    def __init__(self, path: str, *, live: bool = False) -> None:
        self._target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
        self._part: Path | None = None
        if live or (self._target.exists() and not self._target.is_file()):
            self._file: IO[bytes] = self._target.open("wb")
            return
        part = self._target.with_name(f".kwire-{os.getpid()}.part")
        try:
            self._file, self._part = part.open("xb"), part
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        if self._target.exists():
            part.chmod(self._target.stat().st_mode & 0o7777)

    def write(self, data: bytes) -> int:
        """Write results."""
        return self._file.write(data)

    def flush(self) -> None:
        """Write what is buffered."""
        self._file.flush()

    def isatty(self) -> bool:
        """Return False: this is a file."""
        return False

    def finish(self) -> None:
        """Put the file in its place: all results are written."""
        self._file.flush()
        if self._part:
            self._part.replace(self._target)
            self._part = None

    def close(self) -> None:
        """Close the file. If it was not finished, what was there before stays, and nothing is left of it.

        Closing writes what is buffered, which fails again on a full disk.
        """
        try:
            self._file.close()
        finally:
            if self._part:
                self._part.unlink(missing_ok=True)
