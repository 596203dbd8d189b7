"""The settings of views, and the items that they show.

They are separate from the views, so that the code that selects items does not import the formats.
"""

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

    Attributes:
        records: The form of records in JSON.
        fields: The columns of a table. Empty for the default columns.
        labelled: Lines of captures contain their file.
        wide: Tables have all columns, even if they are wider than the terminal.

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

    `records` are its selected records with their numbers, or None if the view itself reads all records. Anomalies of
    records are added to `notes` while they are read.
    """

    item: Batch | Gap
    records: list[tuple[int, Record]] | None
    notes: list[Anomaly]

    @property
    def batch(self) -> Batch | None:
        """The batch. A gap may contain a damaged batch."""
        return self.item.batch if isinstance(self.item, Gap) else self.item
