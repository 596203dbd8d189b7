"""What is special about fields of record formats: sizes, attribute bits, checksums. All of it is read from their declarations."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.records import kip82, kip98, v0, v1, v2
from kwire_cli.structs.records.parts import Choice, Series, SizedStruct
from kwire_cli.structs.sized import ArrayOf

if TYPE_CHECKING:
    from kwire_cli.structs.records.parts import Bits


class Special(NamedTuple):
    """A field that is more than a number: made of `bits`, a checksum (`crc` is its rule) of what begins with the field `covers_from`, or a size."""

    bits: tuple[Bits, ...] | None = None
    crc: str | None = None
    covers_from: str = ""
    size: bool = False


_BITS: dict[Any, tuple[Bits, ...]] = {
    v0.MESSAGE: v0.ATTRIBUTES,
    v1.MESSAGE: v1.ATTRIBUTES,
    v2.BATCH: v2.ATTRIBUTES,
    v2.RECORD: (),
    kip82.MESSAGE: kip82.ATTRIBUTES,
    kip98.MESSAGE_SET: kip98.ATTRIBUTES,
    kip98.MESSAGE: kip98.MESSAGE_ATTRIBUTES,
}
_CRCS: dict[Any, tuple[str, str]] = {
    v0.MESSAGE: (v0.CRC, v0.CRC_FROM),
    v1.MESSAGE: (v1.CRC, v1.CRC_FROM),
    v2.BATCH: (v2.CRC, v2.CRC_FROM),
    kip82.MESSAGE: (kip82.CRC, kip82.CRC_FROM),
    kip98.MESSAGE_SET: (kip98.CRC, kip98.CRC_FROM),
    kip98.MESSAGE: (kip98.CRC, kip98.MESSAGE_CRC_FROM),
}


@cache
def specials(decl: Any) -> dict[str, Special]:
    """The special fields of a declaration of a record format, by path without indexes."""
    found: dict[str, Special] = {}
    _gather(decl, "", found)
    return found


def _gather(decl: Any, path: str, found: dict[str, Special]) -> None:
    if isinstance(decl, Choice):
        for form in (*decl.forms.values(), decl.otherwise):
            _gather(form, path, found)
    elif isinstance(decl, Series):
        if decl.size is not None:
            found[path] = Special(size=True)
        _gather(decl.element, f"{path}[]", found)
    elif isinstance(decl, ArrayOf):
        _gather(decl.element, f"{path}[]", found)
    elif isinstance(decl, MessageStruct):
        dot = f"{path}." if path else ""
        if isinstance(decl, SizedStruct):
            found[dot + decl.size.name] = Special(size=True)
        if decl in _BITS:
            found[f"{dot}attributes"] = Special(bits=_BITS[decl])
        if decl in _CRCS:
            crc, covers_from = _CRCS[decl]
            found[f"{dot}crc"] = Special(crc=crc, covers_from=covers_from)
        for sc in decl.subcons:
            _gather(sc.subcon, dot + sc.name, found)


FORMATS = {name: record_format.about for name, record_format in RECORD_FORMATS.items()}
"""What a batch of each format is called."""
