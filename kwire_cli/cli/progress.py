"""The progress of a long run: a bar on standard error with bytes, rate and remaining time.

Readers report their position often, which is cheap. The bar appears after two seconds. Only then is rich imported
and are the sizes of the inputs determined, so that short runs do not pay for them.
"""

from __future__ import annotations

import codecs
import time
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import KwireError
from kwire_cli.stores.paths import BYTES, path_of, sizes
from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.progress import Progress as Bar

    from kwire_cli.stores.paths import Place

AFTER = 2.0
"""Seconds until the bar is shown."""
EVERY = 0.25
"""Seconds between two updates of the bar."""
MAX_NAME = 30
"""Maximum length of the name of an input next to the bar."""


class Progress:
    """The progress of one command over all of its inputs. `is_free` returns whether the terminal can show a bar."""

    def __init__(self, stderr: IO[bytes], is_free: Callable[[], bool], *, colour: bool = True) -> None:
        self._stderr = stderr
        self.is_free = is_free
        self._colour = colour
        self._next = time.monotonic() + AFTER
        self._inputs: Sequence[str] = ()
        self._total: int | None = None
        self._label = ""
        self._at = 0
        self._size = 0
        self._unit = BYTES
        self._before = 0
        """Bytes of the inputs before the current one."""
        self._bar: Bar | None = None

    def expect(self, inputs: Sequence[str]) -> None:
        """Set the files and folders that follow. Their sizes are determined when the bar is shown."""
        self._inputs = inputs
        self._total = None
        self._before = 0
        self._reset_input()

    @property
    def passed(self) -> int:
        """Return the number of bytes of all inputs that were read."""
        return self._before + (self._at if self._unit == BYTES else 0)

    @property
    def total(self) -> int:
        """Return the size of all inputs, or 0 if the size of an input is unknown."""
        if self._total is None:
            self._total = size_of_inputs(self._inputs)
        return self._total if self._total >= self.passed else 0

    @property
    def text(self) -> str:
        """Return the number of bytes that were read, as text."""
        return f"{self.passed:,} of {self.total:,} bytes" if self.total else f"{self.passed:,} bytes"

    def tell(self, label: str, at: int, size: int, unit: str = BYTES) -> None:
        """Report that `at` of `size` bytes of an input were read. `size` is 0 if it is unknown.

        If `unit` is not bytes, the numbers refer to all inputs together.
        """
        if label != self._label:
            self._end_input()
        self._label = label
        self._at = at
        self._size = size
        self._unit = unit
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            if self.is_free():
                self._draw()

    def done(self) -> None:
        """Report that an input was read completely, and remove the bar."""
        self._end_input()
        self.hide()

    def hide(self) -> None:
        """Remove the bar until the next report."""
        if self._bar:
            self._bar.stop()
            self._bar = None

    def _end_input(self) -> None:
        if self._unit == BYTES:
            self._before += max(self._at, self._size)
        self._reset_input()

    def _reset_input(self) -> None:
        self._label = ""
        self._at = 0
        self._size = 0

    def _draw(self) -> None:
        passed = self._at
        total = self._size
        if self._unit == BYTES:
            passed = self.passed
            total = self.total
        if self._bar is None:
            self._bar = _new_bar(self._stderr, self._unit, colour=self._colour)
            self._bar.add_task("", total=None)
        name = self._label.rpartition("/")[2]
        [(label, _)] = without_control([(name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…", "")])
        self._bar.update(self._bar.tasks[0].id, completed=passed, total=total or None, description=label)
        self._bar.start()
        self._bar.refresh()


def size_of_inputs(inputs: Sequence[str]) -> int:
    """Return the size of all inputs, or 0 if an input is not a file or folder of this machine."""
    total = 0
    for name in inputs:
        try:
            place = path_of(name)
            if not (place.is_file() or place.is_dir()):
                return 0
            total += sum(sizes(_files(place)))
        except (KwireError, OSError, ValueError):
            return 0
    return total


def _files(place: Place) -> Iterable[Place]:
    """Return the files below a file or folder.

    For log directories, these are only the segments and snapshots: Kafka allocates indexes in advance, so their sizes
    would distort the progress.
    """
    if not place.is_dir():
        return (place,)
    from kwire_cli.source.logs.model import BATCH_KINDS, file_name  # few runs take so long
    from kwire_cli.stores.opening import tree

    files = tree(place).files()
    logs = [path for path in files if file_name(path.name).kind in BATCH_KINDS]
    return logs or files


def _new_bar(stderr: IO[bytes], unit: str, *, colour: bool) -> Bar:
    from rich.console import Console  # few runs take so long
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress as Bar,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    amounts: tuple[Any, ...] = (DownloadColumn(binary_units=True), TransferSpeedColumn())
    if unit != BYTES:
        amounts = (TextColumn(f"{{task.completed}} of {{task.total}} {unit}"),)
    file: Any = codecs.getwriter("utf-8")(stderr, "backslashreplace")
    console = Console(file=file, force_terminal=True, no_color=not colour, highlight=False, markup=False)
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), *amounts, TimeRemainingColumn())
    settings: dict[str, Any] = {"transient": True, "redirect_stdout": False, "redirect_stderr": False}
    return Bar(*columns, console=console, auto_refresh=False, **settings)
