"""`--report stats`, and parts of it: topics, latency, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.captures import show_counts
from kwire_cli.cli.environment import Exit

if TYPE_CHECKING:
    from kwire_cli.analysis.stats import Stats
    from kwire_cli.cli.reports import Asked

GROUPS = {"topics": ("topic",), "latency": ("api", "broker")}
"""What of the statistics a report shows, if not all."""


def show(asked: Asked) -> int:
    """Show the statistics of request logs, and of captures."""
    from kwire_cli.cli.reports.counting import counted
    from kwire_cli.pipeline.reports import STATS

    found: list[Stats] = counted(asked, STATS, "they are counted apart, request logs first")
    for stats in found:
        if asked.name in GROUPS:
            stats.groups = {kind: stats.groups[kind] for kind in GROUPS[asked.name]}
        elif asked.name == "errors":
            stats.groups = {
                kind: {key: group for key, group in groups.items() if group.errors}
                for kind, groups in stats.groups.items()
            }
        show_counts(asked.environment, stats, asked.fmt)
    return Exit.DONE
