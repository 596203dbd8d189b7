"""All benchmarks in one run: `python bench/run.py [BLOCK]...`, of those in BLOCKS. docs/speed.md says what they
measure.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timing import machine, processor

BLOCKS = (
    "kernel",
    "startup",
    "guess",
    "captures",
    "overhead",
    "questions",
    "records",
    "logs",
    "columns",
    "pipeline",
    "lake",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Benchmarks; times hold for this machine and this moment, ratios travel."
    )
    parser.add_argument("blocks", nargs="*", help=f"which of {', '.join(BLOCKS)}; all by default")
    parser.add_argument(
        "--rounds", type=int, default=7, help="turns that every row of `kernel`, `records` and `columns` gets [7]"
    )
    parser.add_argument("--runs", type=int, default=21, help="processes that every row of `startup` gets [21]")
    parser.add_argument("--golden", type=Path, action="append", help="files of golden vectors for `guess`")
    parser.add_argument("--logs", type=Path, help="a folder with brokers' request logs (*.jsonl.gz) for `guess`")
    parser.add_argument(
        "--captures", type=Path, help="a folder where captures are made once and kept; otherwise they are deleted"
    )
    parser.add_argument(
        "--turns",
        type=int,
        default=3,
        help="turns that every row of `captures`, `overhead`, `questions`, `logs`, `pipeline` and `lake` gets [3]",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the data for `pipeline`")
    parser.add_argument(
        "--records",
        type=Path,
        help="a folder where the batches of `records`, the segments of other blocks are made once",
    )
    options = parser.parse_args()
    if strange := set(options.blocks) - set(BLOCKS):
        parser.error(f"no such block: {', '.join(sorted(strange))}")
    print(machine())
    for name in options.blocks or BLOCKS:
        print(f"\n{name}, on {processor()}")
        if name == "kernel":
            import kernel

            kernel.block(options.rounds)
        elif name == "startup":
            import startup

            startup.block(options.runs)
        elif name == "captures":
            import captures

            captures.block(options.turns, options.captures)
        elif name == "overhead":
            import overhead

            overhead.block(options.turns, options.captures)
        elif name == "questions":
            import questions

            questions.block(options.turns, options.captures)
        elif name == "records":
            import records

            records.block(options.rounds, options.records)
        elif name == "logs":
            import logs

            logs.block(options.turns, options.records)
        elif name == "columns":
            import columns

            columns.block(options.rounds, options.records)
        elif name == "lake":
            import lake

            lake.block(options.turns, options.captures)
        elif name == "pipeline":
            import pipeline

            pipeline.block(options.turns, options.records, options.captures, quick=options.quick)
        else:
            import guess

            guess.block(options.golden, options.logs)


if __name__ == "__main__":
    main()
