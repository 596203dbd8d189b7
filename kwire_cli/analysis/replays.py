"""The tables that replays fill, for questions that may read any of them."""

from __future__ import annotations

from kwire_cli.analysis.calls import ReplayedTables
from kwire_cli.analysis.groups.groups import GroupState
from kwire_cli.analysis.groups.reading import QUERY as GROUP_CALLS
from kwire_cli.analysis.groups.tables import TABLES as GROUP_TABLES

REPLAYED: tuple[ReplayedTables, ...] = (
    ReplayedTables(
        {table: [(column.name, column.type) for column in columns] for table, columns in GROUP_TABLES.items()},
        GROUP_CALLS,
        GroupState,
    ),
)
