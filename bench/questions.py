"""Block `questions`: the questions about traffic beside `kwire decode --format table` of the same captures in one run;
and the memory of the one that asks all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from captures import TABLE, print_beside

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = {f"kwire {name}": (name,) for name in ("summary", "diagnose", "groups", "transactions", "stats")}
MOST = 1.5
"""A question takes at most so many times as long as the table of the same frames."""


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    commands = {TABLE: ("decode", "--format", "table"), **QUESTIONS}
    print_beside(commands, [*QUESTIONS], runs, folder, messages, most=MOST, most_memory=1.3)
