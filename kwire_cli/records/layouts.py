"""The record formats as a reader of batches needs them: how a batch begins, how long it is at least, and its checksum.

All formats begin alike: an offset, a size, four bytes that differ, the magic byte. So one reader finds the batches of
all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.errors import InputError
from kwire_cli.records.codecs import crc32, crc32c
from kwire_cli.records.formats import AUTO, BY_MAGIC, CHOICES, RECORD_FORMATS
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import v0

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire_cli.records.formats import RecordFormat
    from kwire_cli.structs.records.parts import Bits

CHECKSUMS: dict[str, Callable[[Any], int]] = {"crc32": crc32, "crc32c": crc32c}


def leading(decl: Any) -> Any:
    """Return the fields of a declaration up to the first one of variable size."""
    return construct.Struct(*takewhile(lambda field: isinstance(field.subcon, construct.FormatField), decl.subcons))


FRAME: Fixed = fixed(leading(v0.MESSAGE), ("offset", "messageSize", "magic"))
"""The first fields of all formats: offset, size, magic."""
SIZE_AT = offset_of(v0.MESSAGE, "messageSize")
OVERHEAD = offset_of(v0.MESSAGE, "crc")
"""Bytes of a batch or message that its size does not count (Records.LOG_OVERHEAD)."""
MAGIC_AT = offset_of(v0.MESSAGE, "magic")
_MESSAGES = "legacy"
"""The kind of message formats."""
_LENGTHS = {_MESSAGES: 2}
"""The number of lengths in every message, for key and value, by the kind of format."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One format. `decl` is the declaration of a batch or message, `head` its leading fields of fixed size, `least` the
    minimum of its size field.

    `checksum` covers the bytes from `crc_from` to the end, and `crc` reads the checksum in a batch. `attributes` are
    the meanings of the bits of the attributes, `known_bits` all of these bits. With `is_message` the format has
    messages, each a record or a wrapper of others, instead of batches.
    """

    name: str
    magic: int
    decl: Any
    head: Fixed
    least: int
    checksum: Callable[..., int]
    crc_from: int
    crc: Fixed
    crc_at: int
    attributes: tuple[Bits, ...]
    known_bits: int
    is_message: bool

    def numbers(self, data: Any, at: int) -> dict[str, int]:
        """Return the fields of `head` by name, read from the start of a batch or message."""
        return dict(zip(self.head.names, self.head.unpack(data, at), strict=True))


def _layout(name: str, record_format: RecordFormat) -> Layout:
    module = record_format.declared
    decl = record_format.decl
    head = fixed(leading(decl))
    least = head.size + _LENGTHS.get(record_format.kind, 0) * v0.NULLABLE_BYTES.prefix.length - OVERHEAD
    crc_from = offset_of(decl, module.CRC_FROM)
    crc_at = offset_of(decl, "crc")
    return Layout(
        name,
        record_format.magic,
        decl,
        head,
        least,
        CHECKSUMS[module.CRC],
        crc_from,
        fixed(leading(decl), ("crc",)),
        crc_at,
        module.ATTRIBUTES,
        sum(bits.mask for bits in module.ATTRIBUTES),
        record_format.kind == _MESSAGES,
    )


LAYOUTS = {name: _layout(name, record_format) for name, record_format in RECORD_FORMATS.items()}


def by_magic(names: Iterable[str]) -> Mapping[int, Layout]:
    """Return these formats by their magic byte."""
    return {LAYOUTS[name].magic: LAYOUTS[name] for name in names}


def layouts_of(form: str) -> Mapping[int, Layout]:
    """Return the layouts of a format by magic byte. Raise InputError for an unknown format.

    "auto" has all formats of Kafka.
    """
    if form not in CHOICES:
        raise InputError(f"format={form!r}: record formats are {', '.join(CHOICES)}")
    return by_magic(BY_MAGIC if form == AUTO else (form,))
