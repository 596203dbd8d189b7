"""How batches and messages of any format are built: through their declaration, and then with the right checksum."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.codec.compression import compress
from kwire_cli.errors import EncodeError
from kwire_cli.structs.numbers import INTS
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.records.given import Given
    from kwire_cli.records.layouts import Layout
    from kwire_cli.structs.records.parts import Bits


def built(decl: Any, value: Mapping[str, Any], path: str) -> bytes:
    """The bytes of a value; sizes that it gives are written as they are. EncodeError with `path` before the declaration's own."""
    with within(path):
        return bytes(decl.build(dict(value), lenient=True))


def sealed(data: bytes, layout: Layout, crc: int | None) -> bytes:
    """A batch or message with its checksum, or with this one."""
    number = layout.checksum(data[layout.crc_from :]) if crc is None else crc
    said: bytes = INTS["uint32"].build(number)
    return data[: layout.crc_at] + said + data[layout.crc_at + len(said) :]


def said_crc(item: Given, fields: Mapping[str, Any]) -> int | None:
    """The checksum that is to be written although it may be wrong; None where it is to be computed."""
    if "crc" in fields:
        return item.inner("fields").integer("crc", "uint32")  # type: ignore[union-attr]
    if item.flag("crcValid", default=True):
        return None
    crc = item.integer("crc", "uint32")
    if crc is None:
        raise item.refuse("crc", "it is missing: with crcValid false it says what checksum to write")
    return crc


def packed(item: Given, codec: int, data: bytes, magic: int) -> bytes:
    """The bytes compressed, at the level that the item says."""
    level = item.integer("compressionLevel", "int32")
    try:
        return compress(codec, data, level=level, magic=magic)
    except EncodeError as error:
        raise item.refuse("compressionLevel", error.reason) from None


def codec_of(item: Given) -> int:
    """The number of its codec. zstd is taken in every format: Kafka refuses to read it in v0 and v1, which somebody may want to see."""
    return item.choice("compression", COMPRESSION.names, 0)


def timestamp_type_of(item: Given) -> int:
    """The number of its timestamp type, 0 by default."""
    return item.choice("timestampType", TIMESTAMP_TYPE.names, 0)


def attributes_of(*parts: tuple[Bits, int]) -> int:
    """The number that these bits make."""
    return sum(int(number) << bits.shift for bits, number in parts)


def offsets_of(records: list[Given], first: int) -> list[int]:
    """The offset of each record: the one it gives, else that after the one before."""
    out: list[int] = []
    for record in records:
        offset = record.number("offset", "int64", first)
        out.append(offset)
        first = min(offset + 1, (1 << 63) - 1)
    return out


@contextmanager
def within(path: str) -> Iterator[None]:
    """Whatever a declaration refuses as an EncodeError, with `path` before the declaration's own."""
    try:
        yield
    except EncodeError as error:
        raise EncodeError(error.reason, path=_joined(path, error.path), value=error.value) from None
    except construct.ConstructError as error:
        raise EncodeError(str(error), path=path) from error


def _joined(path: str, inner: str) -> str:
    return f"{path}.{inner}" if path and inner and not inner.startswith("[") else path + inner
