"""Block `overhead`: `kwire overhead` beside plain `kwire decode --format jsonl` of the same captures in one run; and
its memory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import make_traffic
from captures import installed, peak, timed
from timing import Row, measure_in_turns, print_verdict, ratio, ratio_at_best

JSONL, OVERHEAD, BATCHING = "kwire decode --format jsonl", "kwire overhead", "kwire overhead --by topic,kind --batching"
COMMANDS = {
    JSONL: ("decode", "--format", "jsonl"),
    OVERHEAD: ("overhead",),
    BATCHING: ("overhead", "--by", "topic,kind", "--batching"),
}


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    kwire = installed()
    if not kwire:
        return
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        files = make_traffic.captures(where, messages)
        rows = [
            Row(name, row, *timed(kwire, *words, str(path)))
            for name, path in files.items()
            for row, words in COMMANDS.items()
        ]
        measure_in_turns(rows, runs)
        for name, path in files.items():
            print(f"\n  {name}: {path.stat().st_size / 1e6:.0f} MB")
            for row in (row for row in rows if row.input == name):
                print(f"    {row.name:<46} {row.seconds:>8.2f} s, at best {row.best:.2f}")
            print_verdict(f"{OVERHEAD} / {JSONL}", ratio(rows, name, OVERHEAD, JSONL), at_most=1.3)
            print_verdict("the same, best turns", ratio_at_best(rows, name, OVERHEAD, JSONL), at_most=1.3)
        long = make_traffic.small(where / "small-long.pcap", 10 * messages)
        one, ten = (peak(kwire, *COMMANDS[OVERHEAD], str(path)) for path in (files["small"], long))
        print_verdict(
            f"memory on ten times as much traffic ({ten / 1e6:.0f} MB) / on the capture ({one / 1e6:.0f} MB)",
            ten / one,
            at_most=1.1,
        )
