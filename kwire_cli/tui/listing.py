"""What a list in the terminal is made of, whatever the file holds; and the choice of what to show of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.tui.look import Look
    from kwire_cli.view.lines import Line


class Listing(Protocol):
    """Frames or batches by number, from 0, which are read in one thread (`read`) and looked at in another."""

    what: tuple[str, str]
    """What one of them is called, and several."""
    number_is: str
    """What `numbered` takes."""
    notes: list[str]
    """What has to be said of the file besides, once it was read."""

    def __len__(self) -> int:
        """How many there are so far."""

    def read(self) -> Iterator[float]:
        """Find them all: what share of the file has been read, now and then, as long as it is asked for."""

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """What finds those that match a filter: the share that was looked at, and those found since, in order. FilterError where it is none."""

    def heading(self, width: int) -> Line:
        """The names of the columns that have room in so many cells."""

    def row(self, number: int, width: int) -> Line:
        """One of them in a line, in the columns of the heading."""

    def title(self, number: int) -> str:
        """What one of them is, in a few words."""

    def is_odd(self, number: int) -> bool:
        """Whether it has an anomaly, or is one."""

    def partner(self, number: int) -> int | None:
        """The response of a request, the request of a response; None where there is none."""

    def numbered(self, text: str) -> int | None:
        """The one that a user means by a number; None where there is none."""

    def look(self, number: int, *, full: bool) -> Look:
        """One of them byte by byte; with `full` whatever its size."""

    def close(self) -> None:
        """Let go of what was kept."""
