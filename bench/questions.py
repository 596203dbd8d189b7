"""Block `questions`: the questions about traffic beside `kwire decode --format table` of the same captures in one run;
and the memory of the one that asks all.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import make_traffic
from captures import installed, peak, timed
from timing import Row, measure_in_turns, print_verdict, ratio, ratio_at_best

TABLE = "kwire decode --format table"
QUESTIONS = ("summary", "diagnose", "groups", "transactions", "stats")
MOST = 1.5
"""A question takes at most so many times as long as the table of the same frames."""


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    kwire = installed()
    if not kwire:
        return
    commands = {TABLE: ("decode", "--format", "table")} | {f"kwire {name}": (name,) for name in QUESTIONS}
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        files = make_traffic.captures(where, messages)
        rows = [
            Row(name, row, *timed(kwire, *words, str(path)))
            for name, path in files.items()
            for row, words in commands.items()
        ]
        measure_in_turns(rows, runs)
        for name, path in files.items():
            print(f"\n  {name}: {path.stat().st_size / 1e6:.0f} MB")
            for row in (row for row in rows if row.input == name):
                print(f"    {row.name:<46} {row.seconds:>8.2f} s, at best {row.best:.2f}")
            for question in list(commands)[1:]:
                print_verdict(f"{question} / {TABLE}", ratio(rows, name, question, TABLE), at_most=MOST)
                print_verdict("the same, best turns", ratio_at_best(rows, name, question, TABLE), at_most=MOST)
        long = make_traffic.small(where / "small-long.pcap", 10 * messages)
        one, ten = (peak(kwire, "summary", str(path)) for path in (files["small"], long))
        print_verdict(
            f"memory on ten times as much traffic ({ten / 1e6:.0f} MB) / on the capture ({one / 1e6:.0f} MB)",
            ten / one,
            at_most=1.3,
        )
