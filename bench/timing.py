"""Rows that are measured in turns: each round runs every row once, so that whatever disturbs the machine disturbs all
of them; medians count.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Row:
    """One contestant on one input. `measure` runs for a moment and returns seconds per message; None where it is not
    here, and `why`.
    """

    input: str
    name: str
    measure: Callable[[], float] | None
    why: str = ""
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        return median(self.times) if self.times else None

    @property
    def best(self) -> float | None:
        """The turn that was disturbed least."""
        return min(self.times, default=None)


def measure_in_turns(rows: list[Row], rounds: int) -> None:
    """All rows, `rounds` times, one after the other; the first round only warms up."""
    for turn in range(rounds + 1):
        for row in rows:
            if row.measure:
                taken = row.measure()
                if turn:
                    row.times.append(taken)


def repeat(work: Callable[[], object], messages: int, seconds: float = 0.15) -> float:
    """Seconds per message of `work`, which does `messages` of them, repeated for a moment."""
    start = now = time.perf_counter()
    n = 0
    while now - start < seconds:
        work()
        n += 1
        now = time.perf_counter()
    return (now - start) / n / messages


def find(rows: list[Row], where: str, name: str) -> Row:
    return next(row for row in rows if row.input == where and row.name == name)


def ratio(rows: list[Row], where: str, slow: str, fast: str) -> float | None:
    """How many times longer `slow` takes than `fast`."""
    a, b = find(rows, where, slow).seconds, find(rows, where, fast).seconds
    return a / b if a and b else None


def ratio_at_best(rows: list[Row], where: str, slow: str, fast: str) -> float | None:
    """The same of their best turns: on a machine that does other things too, medians say much about these."""
    a, b = find(rows, where, slow).best, find(rows, where, fast).best
    return a / b if a and b else None


def print_verdict(
    what: str, value: float | None, *, at_least: float | None = None, at_most: float | None = None
) -> None:
    bound = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    if value is None:
        print(f"  {what:<76} {'not here':>8}  wanted {bound}")
        return
    met = value >= at_least if at_least is not None else value <= (at_most or 0)
    print(f"  {what:<76} {value:>7.2f}x  wanted {bound}: {'met' if met else 'NOT MET'}")


def machine() -> str:
    """One line about where this was measured."""
    return (
        f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def processor() -> str:
    """The processor's name; on Linux with family and model, since a virtual machine may hide the rest."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        said = dict(
            (part.strip() for part in line.split(":", 1)) for line in info.read_text().splitlines() if ":" in line
        )
        if name := said.get("model name"):
            return f"{name} (family {said.get('cpu family')}, model {said.get('model')})"
    return platform.processor() or platform.machine()
