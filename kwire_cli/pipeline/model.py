"""What a table of the data source is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.codec.model import Limits
from kwire_cli.errors import InputError, without_queries
from kwire_cli.source.capture.points import Naming
from kwire_cli.spec.catalog import Catalog, catalog
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import Filter


MOST_NAMED = 5
"""Gaps of which it is kept what they are."""


@dataclass(slots=True)
class Told:
    """The bytes that were read of a part, and the gaps in it that are no rows. A file that cannot be read is such a gap.

    With `stop` the first gap is an error. `first` are the first gaps: the file of each, and what is wrong with it.
    """

    size: int = 0
    faults: int = 0
    stop: bool = False
    first: list[tuple[str, str]] = field(default_factory=list)

    def fault(self, file: str, text: str) -> None:
        """Something cannot be read. InputError where that is to be."""
        self.faults += 1
        if len(self.first) < MOST_NAMED:
            self.first.append((location(file), without_queries(text)))
        if self.stop:
            raise InputError(text, file=file)


@dataclass(frozen=True, slots=True)
class Reading:
    """How parts are read: what may be decompressed, whether secrets are shown, by which definitions, and who is told of what has no rows.

    `naming` says which files are of one capture point. `key_logs` are paths of files with the keys of TLS connections.
    With `fail_fast` what cannot be read is an error. All of it goes to the tasks: a
    catalogue takes with it what was added to it.
    """

    limits: Limits = field(default_factory=Limits)
    show_secrets: bool = False
    catalog: Catalog = field(default_factory=catalog)
    fail_fast: bool = False
    key_logs: tuple[str, ...] = ()
    naming: Naming = field(default_factory=Naming)
    told: Told = field(default_factory=Told)


class Table(Protocol):
    """Rows that files hold, without a look at other files."""

    @property
    def name(self) -> str:
        """What the option `table` calls it."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterable[Any]:
        """What tasks read: a part each, of about `split_size` bytes, that can be pickled; without those that have no rows behind all filters.

        Spark applies the filters again: rows that they exclude may be given.
        """

    def read(self, part: Any, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """The rows of a part with these columns in this order; a file that cannot be read has none."""
