"""Settings that `kwire overhead --batching` tries."""

from __future__ import annotations

from typing import Any

import click

from kwire_cli.analysis.costs.batching import BATCH_SIZES, LINGERS, Accumulators, Setting
from kwire_cli.cli.options import size_of

MOST_SETTINGS = 200
LONGEST_LINGER, LARGEST_BATCH = 2147483647, 2147483647
"""Of Kafka's types for both."""


def accumulators_of(options: dict[str, Any]) -> Accumulators:
    """Return the accumulators for --linger and --batch-size.

    Raises UsageError if a value is not a valid number, or if there are more than MOST_SETTINGS pairs.
    """
    lingers = tuple(_linger(text) for text in options["linger"].split(",")) if options["linger"] else LINGERS
    sizes = (
        tuple(_batch_size(text) for text in options["batch_sizes"].split(","))
        if options["batch_sizes"]
        else BATCH_SIZES
    )
    settings = [Setting(linger, size) for linger in sorted({*lingers}) for size in sorted({*sizes})]
    if len(settings) > MOST_SETTINGS:
        raise click.UsageError(
            f"--linger and --batch-size make {len(settings)} pairs; {MOST_SETTINGS} are the most allowed"
        )
    return Accumulators(settings)


def _linger(text: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text) > len(str(LONGEST_LINGER)) or int(text) > LONGEST_LINGER:
        raise click.UsageError(f"--linger takes milliseconds, such as 0,5,20, not {text!r}")
    return int(text)


def _batch_size(text: str) -> int:
    size = size_of(text, "--batch-size")
    if size > LARGEST_BATCH:
        raise click.UsageError(f"--batch-size {text.strip()}: batch.size can be at most {LARGEST_BATCH}")
    return size
