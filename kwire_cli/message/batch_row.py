"""Batches as filters see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.message.opened import opened
from kwire_cli.records.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.model import Gap, Hide

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch or gap of a segment: its `size`, `kind` (batch, control or gap), `time` (the largest) and `anomaly`.

    All else are fields of its JSON form, with its records if `deep`.
    """

    item: Batch | Gap
    deep: bool
    hide: Hide | None = None
    shown: dict[str, Any] | None = None
    """Its JSON form with some of its records alone, where these are looked at."""

    def column(self, name: str) -> Any:
        """The value of a column; None where there is none."""
        item = self.item
        if name == "size":
            return item.size
        if name == "kind":
            return "gap" if not isinstance(item, Batch) else "control" if item.head.control else "batch"
        if name == "time" and isinstance(item, Batch):
            return None if item.head.max_timestamp < 0 else item.head.max_timestamp * MILLION
        if name == "anomaly":
            return [anomaly.code for anomaly in item.anomalies] if isinstance(item, Batch) else [item.code]
        return None

    def fields(self) -> dict[str, Any]:
        """Its JSON form, with its records where these are asked for."""
        return {"batch": self.shown or self.item.to_json(deep=self.deep, hide=self.hide)}

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batch itself."""
        return [self.shown or opened(self.item, self.hide, deep=deep)]

    def payloads(self) -> list[dict[str, Any]]:
        """None: what records mean stands in them."""
        return []


def record_rows(item: Batch, hide: Hide | None) -> Iterator[BatchRow]:
    """Yield a row for each record of a batch: the batch with this record alone."""
    document = opened(item, hide, deep=True)
    for record in document["records"]:
        yield BatchRow(item, deep=True, hide=hide, shown=document | {"records": [record]})
