"""What was asked of `kwire overhead`, and what came of it so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.progress import Progress
from kwire_cli.cli.sizes import limits_of, size_of
from kwire_cli.errors import EncodeError, InputError

if TYPE_CHECKING:
    from kwire_cli.cli.capture_lines import CapturePoints
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cost.overhead.accumulator import Accumulators
    from kwire_cli.cost.overhead.summed import Summed
    from kwire_cli.cost.overhead.tallies import Tallies
    from kwire_cli.spec.catalog import Catalog

DEFAULTS = {"capture": (("api",), ("kind",)), "frames": (("field",), ("kind",)), "segments": (("topic", "partition"), ("kind",))}
"""The tables of bytes where none were asked for, by what the first input is."""


@dataclass
class Asked:
    """What was asked for."""

    environment: Environment
    catalog: Catalog
    options: dict[str, Any]
    laid: Catalog | None = None
    """The definitions of a what-if."""
    points: CapturePoints | None = None
    several: bool = False
    """Whether there is more than one input, so that a place has to say in which it is."""

    def __post_init__(self) -> None:
        self.tables = tables_of(self.options["by"])
        self.limits = _limits_given(self.options["given"])
        self.progress = Progress(self.environment)


@dataclass
class Counted:
    """What came of it. `files` are the bytes of captures, packets and all; `segments` says that what was counted are files of records alone.

    Of a what-if, `tallies` are under the overlay, and `written` are those of the input as it is. `summed` is in place of `tallies`
    where others counted.
    """

    tables: list[tuple[str, ...]]
    tallies: Tallies
    accumulators: Accumulators | None
    files: int = 0
    captures: int = 0
    segments: bool = True
    decodable: bool = False
    written: Tallies | None = None
    summed: Summed | None = None

    @property
    def amounts(self) -> Tallies | Summed:
        """What is shown."""
        return self.summed or self.tallies

    def turn_to(self, name: str | None, *, several: bool) -> None:
        """What comes next is from this input."""
        self.tallies.file = name
        self.tallies.largest.turn_to({"file": name} if several and name else {})

    def add(self, subject: Any, place: str) -> None:
        """Count a line of a capture, or what has the same properties. InputError with its place for a value that an overlay has no room for."""
        try:
            self.tallies.add(subject)
        except EncodeError as error:
            raise InputError(f"{place}: {error}") from None
        if self.written:
            self.written.file = self.tallies.file
            self.written.add(subject)


def tables_of(by: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The dimensions of each table of --by. UsageError for one that there is not."""
    from kwire_cli.cost.overhead.dimensions import DIMENSIONS

    tables = []
    for text in by:
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
        if strange := [name for name in names if name not in DIMENSIONS]:
            raise click.UsageError(f"--by {strange[0]}: bytes are grouped by {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}")
        tables.append(names)
    return tables


def begin(asked: Asked, kind: str) -> Counted:
    """What is counted is known when the first input is: the tables depend on it."""
    from kwire_cli.cost.overhead.dimensions import OF_MESSAGE
    from kwire_cli.cost.overhead.tallies import Tallies

    tables = asked.tables or [*DEFAULTS[kind]]
    names = [name for name in OF_MESSAGE if any(name in each for each in tables)]
    accumulators = None
    if any(asked.options[name] for name in ("batching", "linger", "batch_sizes")):
        from kwire_cli.cli.batching import accumulators_of

        accumulators = accumulators_of(asked.options)
    on_records = accumulators.add if accumulators else None
    limits = limits_of(asked.options)
    tallies = Tallies(asked.catalog, names, limits=limits, on_records=on_records)
    written = None
    if asked.laid:
        from kwire_cli.cost.overlaid import Overlaid

        written = Tallies(asked.catalog, names, limits=limits)
        tallies.overlaid = Overlaid(asked.catalog, asked.laid)
    return Counted(tables, tallies, accumulators, written=written)


def _limits_given(texts: tuple[str, ...]) -> dict[str, int]:
    """The limits of --limit by name. UsageError for one that there is not."""
    from kwire_cli.cost.overhead.limits import NAMES

    out = {}
    for text in texts:
        name, mark, size = text.partition("=")
        if not mark or name.strip() not in NAMES:
            raise click.UsageError(f"--limit {text}: it takes NAME=BYTES, of {', '.join(NAMES)}")
        out[name.strip()] = size_of(size, f"--limit {name.strip()}")
    return out
