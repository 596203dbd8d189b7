"""All tables that replays fill, for questions whose queries may read any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis import batch_uses
from kwire_cli.analysis.groups import replay as groups
from kwire_cli.analysis.transactions import replay as transactions

if TYPE_CHECKING:
    from kwire_cli.analysis.calls import ReplayedTables

REPLAYED: tuple[ReplayedTables, ...] = (groups.REPLAYED, transactions.REPLAYED, batch_uses.REPLAYED)
