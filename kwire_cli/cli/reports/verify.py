"""`--report verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.partitions import show_found, verifiable

if TYPE_CHECKING:
    from kwire_cli.cli.reports import Asked


def show(asked: Asked) -> int:
    """The faults of log directories; 1 where there are any."""
    from kwire_cli.analysis.verify import Checked
    from kwire_cli.pipeline.reports import verified

    checked = Checked()
    found = verified(asked.spark, verifiable(asked.paths), checked, deep=asked.options["deep"])
    return show_found(asked.environment, found, checked, asked.fmt)
