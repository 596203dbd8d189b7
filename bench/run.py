"""All benchmarks in one run: `python bench/run.py [BLOCK]...`, of those in BLOCKS.

docs/evidence/speed.md describes each block.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timing import machine, processor

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKS: dict[str, Callable[[Any, argparse.Namespace], None]] = {
    "kernel": lambda block, options: block(options.rounds),
    "varints": lambda block, options: block(options.rounds),
    "startup": lambda block, options: block(options.runs),
    "captures": lambda block, options: block(options.turns, options.captures),
    "wireshark": lambda block, options: block(options.turns, options.captures),
    "overhead": lambda block, options: block(options.turns, options.captures),
    "questions": lambda block, options: block(options.turns, options.captures),
    "records": lambda block, options: block(options.rounds, options.records),
    "logs": lambda block, options: block(options.turns, options.records),
    "lake": lambda block, options: block(options.turns, options.captures),
    "schemas": lambda block, options: block(options.rounds),
}
"""The function `block` of each module of this folder, called."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Benchmarks; times hold for this machine and this moment, ratios travel."
    )
    parser.add_argument("blocks", nargs="*", help=f"which of {', '.join(BLOCKS)}; all by default")
    parser.add_argument(
        "--rounds",
        type=int,
        default=7,
        help="turns that every row of `kernel`, `varints`, `records` and `schemas` gets [7]",
    )
    parser.add_argument("--runs", type=int, default=21, help="processes that every row of `startup` gets [21]")
    parser.add_argument(
        "--captures", type=Path, help="a folder where captures are made once and kept; otherwise they are deleted"
    )
    parser.add_argument(
        "--turns",
        type=int,
        default=3,
        help="turns that every row of `captures`, `overhead`, `questions`, `logs` and `lake` gets [3]",
    )
    parser.add_argument(
        "--records",
        type=Path,
        help="a folder where the batches of `records` and the segments of `logs` are made once",
    )
    options = parser.parse_args()
    if strange := set(options.blocks) - set(BLOCKS):
        parser.error(f"no such block: {', '.join(sorted(strange))}")
    print(machine())
    for name in options.blocks or BLOCKS:
        print(f"\n{name}, on {processor()}")
        BLOCKS[name](import_module(name).block, options)


if __name__ == "__main__":
    main()
