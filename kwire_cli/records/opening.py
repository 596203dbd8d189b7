"""Record sets in files and in memory, opened for reading: nothing is copied, a file is mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.codec.model import Limits
from kwire_cli.errors import InputError
from kwire_cli.records.formats import AUTO
from kwire_cli.records.layouts import layouts_of
from kwire_cli.records.model import Source
from kwire_cli.records.reading import read_items
from kwire_cli.stores import mapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap
    from kwire_cli.spec.catalog import Catalog


def source_of(data: Any, *, form: str = AUTO, topic: str | None = None, catalog: Catalog | None = None, limits: Limits | None = None) -> Source:
    """A record set: bytes-like, or the path of a file. InputError for a format that there is not, and for what cannot be read."""
    layouts = layouts_of(form)
    view = mapped(data) if isinstance(data, str) or hasattr(data, "__fspath__") else _view(data)
    return Source(view, layouts, catalog, topic, limits or Limits())


def _view(data: Any) -> memoryview:
    try:
        return memoryview(data).cast("B")
    except TypeError as error:
        raise InputError(f"records are read from a path, or from bytes, bytearray or a contiguous memoryview: {error}") from None


def items(source: Source) -> Iterator[Batch | Gap]:
    """All batches and gaps of a source."""
    return read_items(source)
