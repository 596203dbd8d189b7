"""Schema ids in records: in a prefix of the bytes, or in headers.

Sources: Confluent's SchemaId (magic bytes 0 and 1), DualSchemaIdDeserializer and its headers; Apicurio's
DefaultIdHandler, Default4ByteIdHandler and KafkaSerdeHeaders; AWS Glue's AWSSchemaRegistryConstants.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING
from uuid import UUID

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.schemas.model import Told, UnfitError
from kwire_cli.structs import schemas as prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    Headers = Sequence[tuple[str | int, bytes | None]]

ID = 0
GUID = 1
GLUE = 3
"""The first byte. It precedes an id of 4 or 8 bytes, a UUID of 16 bytes, or the rest of AWS Glue's header."""
PROTOBUF_TYPE = {"key": "apicurio.protobuf.type.key", "value": "apicurio.protobuf.type"}
"""Apicurio's record headers with the name of a Protobuf message."""
CONFLUENT_NAME = "Confluent"
APICURIO_NAME = "Apicurio"
GLUE_NAME = "Glue"
GLUE_PLAIN = 0
GLUE_ZLIB = 5
"""The second byte of AWS Glue's header: the compression of the value."""
_ID, _LONG_ID, _GUID, _GLUE, _HEADER_ID = map(
    fixed, (prefixes.ID, prefixes.LONG_ID, prefixes.GUID, prefixes.GLUE, prefixes.HEADER_ID)
)
PREFIX = _ID.size
"""The size of an id of 4 bytes with the byte before it."""
MOST_UNPACKED = 64 << 20
"""Maximum bytes of a decompressed value."""
MAX_RATIO = 1000
"""Maximum ratio of the decompressed to the compressed size. zlib reaches 1032."""
LEAST_UNPACKED = 1 << 16


def told_by(data: bytes, headers: Headers, part: str) -> Told | None:
    """Return the schema that a key or value names, None if neither the bytes nor the headers name a schema.

    `part` is "key" or "value". UnfitError if compressed bytes are damaged.
    """
    if headers and (told := _in_headers(headers, part)):
        return told
    if not data:
        return None
    first = data[0]
    if first == ID and len(data) >= _ID.size:
        ids = [(_ID.unpack(data)[1], _ID.size)]
        if len(data) >= _LONG_ID.size:
            ids.append((_LONG_ID.unpack(data)[1], _LONG_ID.size))
        return Told(tuple(ids), start=_ID.size, by=CONFLUENT_NAME)
    if first == GUID and len(data) >= _GUID.size:
        return Told(guid=_guid(_GUID.unpack(data)[1]), start=_GUID.size, by=CONFLUENT_NAME)
    if first == GLUE and len(data) >= _GLUE.size:
        _, compression, uuid = _GLUE.unpack(data)
        if compression == GLUE_PLAIN:
            return Told(guid=_guid(uuid), start=_GLUE.size, by=GLUE_NAME)
        if compression == GLUE_ZLIB:
            return Told(guid=_guid(uuid), start=0, unpacked=_unpacked(data[_GLUE.size :]), by=GLUE_NAME)
    return None


def _guid(data: bytes) -> str:
    return str(UUID(bytes=data))


def _in_headers(headers: Headers, part: str) -> Told | None:
    values = {name: value for name, value in headers if value is not None}
    own = values.get(f"__{part}_schema_id", b"")
    if len(own) >= _GUID.size and own[0] == GUID:
        return Told(guid=_guid(_GUID.unpack(own)[1]), indexes=own[_GUID.size :], by=CONFLUENT_NAME)
    if len(own) >= _ID.size and own[0] == ID:
        return Told(((_ID.unpack(own)[1], 0),), indexes=own[_ID.size :], by=CONFLUENT_NAME)
    for kind in ("contentId", "globalId"):
        value = values.get(f"apicurio.{part}.{kind}", b"")
        if len(value) == _HEADER_ID.size:
            (number,) = _HEADER_ID.unpack(value)
            message = str(values.get(PROTOBUF_TYPE[part], b""), "utf-8", "replace")
            return Told(((number, 0),), by=APICURIO_NAME, is_global=kind == "globalId", message=message)
    return None


def _unpacked(data: bytes) -> bytes:
    limit = min(max(len(data) * MAX_RATIO, LEAST_UNPACKED), MOST_UNPACKED)
    unzip = zlib.decompressobj()
    try:
        unpacked = unzip.decompress(data, limit)
    except zlib.error:
        raise UnfitError("the compressed value is damaged") from None
    if unzip.unconsumed_tail:
        raise UnfitError(f"the value decompresses to more than {limit} bytes")
    if not unzip.eof:
        raise UnfitError("the compressed value ends early")
    return unpacked
