"""Where the records of a batch are: a part of its bytes, or what that decompresses to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.codec.compression import decompress
from kwire_cli.engine.codes import Anomaly
from kwire_cli.records.model import Area
from kwire_cli.records.odd import add_note
from kwire_cli.stores.shrinking import check, lost

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from kwire_cli.records.batch import Batch


def area_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Area:
    """The bytes behind the header of a batch that is no single message, decompressed within the source's limits."""
    layout = batch.layout
    start = batch.position + layout.head.size
    packed = batch.source.data[start : batch.end]
    codec = batch.head.codec
    if not codec:
        data = bytes(packed)
        if lost:
            check(batch.source.data)
        return Area(data, start, compressed=False)
    data, code, detail, _ = decompress(codec, packed, batch.source.limits)
    if lost:
        check(batch.source.data)
    if code:
        add_note(notes, Anomaly(code, layout.decl.subcons[-1].name, start, detail))
    return Area(data, start, compressed=True)
