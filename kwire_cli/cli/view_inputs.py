"""The settings and items that views are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.records.gaps import Gap

if TYPE_CHECKING:
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.spec.catalog import Catalog


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MessageSettings:
    """Settings for showing messages.

    `records` is the form of records in JSON. `fields` are the columns of a table; none for the usual ones. `labelled`
    says that lines of captures name their file, `wide` that a table has all columns, whatever the terminal's width.
    """

    catalog: Catalog
    show_secrets: bool = False
    records: str = "decoded"
    lossless: bool = False
    full: bool = False
    fields: tuple[str, ...] = ()
    labelled: bool = False
    wide: bool = False


class Shown(NamedTuple):
    """An item to show.

    `records` are its wanted records with their numbers; None if all of them are wanted and the view reads them itself.
    `notes` gets the anomalies of records while they are read.
    """

    item: Batch | Gap
    records: list[tuple[int, Record]] | None
    notes: list[Anomaly]

    @property
    def batch(self) -> Batch | None:
        """The batch, which a gap may have too."""
        return self.item.batch if isinstance(self.item, Gap) else self.item
