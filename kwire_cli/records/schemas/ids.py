"""Schema ids in records: in a prefix of the bytes, or in headers.

Sources: Confluent's SchemaId (magic bytes 0 and 1), DualSchemaIdDeserializer and its headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.schemas.model import SchemaId
from kwire_cli.structs import schemas as prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    Headers = Sequence[tuple[str | int, bytes | None]]

ID = 0
GUID = 1
"""The first byte, which precedes an id of 4 bytes or a UUID of 16 bytes."""
_ID = fixed(prefixes.ID)
_GUID = fixed(prefixes.GUID)


def schema_id_of(data: bytes, headers: Headers, part: str) -> SchemaId | None:
    """Return the id of the schema of a key or value, or None if neither the headers nor the bytes contain an id.

    `part` is "key" or "value".
    """
    for name, value in headers:
        if name == f"__{part}_schema_id" and value is not None and (found := _prefix_of(value)):
            return found._replace(start=0, indexes=value[found.start :])
    return _prefix_of(data)


def _prefix_of(data: bytes) -> SchemaId | None:
    first = data[0] if data else None
    if first == ID and len(data) >= _ID.size:
        return SchemaId(_ID.unpack(data)[1], _ID.size)
    if first == GUID and len(data) >= _GUID.size:
        return SchemaId(str(UUID(bytes=_GUID.unpack(data)[1])), _GUID.size)
    return None
