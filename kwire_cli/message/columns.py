"""Bodies of one message as nested Arrow columns in Kafka's names, made by the compiled kernel."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import entry_for
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from kwire_cli.spec.catalog import Catalog


def message_columns(catalog: Catalog, bodies: Iterable[Any], message: str, version: int) -> pa.StructArray:
    """Return a struct for each body, null for a body that cannot be decoded to its last field.

    InputError for an unknown message or version, for data that is not bytes, and if a library of the extra is missing.
    """
    spec = catalog.message(message)
    if version not in spec.valid_versions:
        raise InputError(f"{spec.name} has versions {spec.valid_versions}, and not {version}")
    try:
        import numpy as np  # noqa: PLC0415 - an extra
        import pyarrow as pa  # noqa: PLC0415 - an extra

        from kwire_cli.engine.arrow import columns  # noqa: PLC0415 - it needs the extra
        from kwire_cli.engine.compiled import jobs_of, octets, walk_many  # noqa: PLC0415 - as above
    except ImportError as error:
        raise InputError(f"columns need numba and pyarrow ({error}): pip install 'kwire[fast,stores]'") from None
    parts = [as_bytes(body) for body in bodies]
    ends = [*accumulate(map(len, parts))]
    entry = entry_for(spec, version)
    structs, whole = columns(
        entry,
        walk_many(entry.program, octets(b"".join(parts) or b"\0"), jobs_of(entry, [0, *ends[:-1]][: len(ends)], ends)),
    )
    if len(whole) == len(parts):
        return structs
    rows, missing = np.zeros(len(parts), np.int64), np.ones(len(parts), bool)
    rows[whole], missing[whole] = np.arange(len(whole)), False
    return structs.take(pa.array(rows, mask=missing))
