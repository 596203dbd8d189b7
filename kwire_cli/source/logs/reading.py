"""Reading any file of a log directory but those of record batches, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.logs.checkpoints import leader_epochs, offset_checkpoint
from kwire_cli.source.logs.indexes import offset_index, time_index, transaction_index
from kwire_cli.source.logs.names import BATCH_KINDS, OFFSET_CHECKPOINTS, FileName, Kind, file_name
from kwire_cli.source.logs.properties import clean_shutdown, meta_properties, partition_metadata, quorum_state
from kwire_cli.source.logs.snapshots import producer_snapshot
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from kwire_cli.source.logs.model import Contents

_WITH_OFFSET: dict[Kind, Callable[[bytes, int | None], Contents[Any]]] = {
    Kind.INDEX: offset_index,
    Kind.TIME_INDEX: time_index,
    Kind.TRANSACTION_INDEX: transaction_index,
    Kind.PRODUCER_SNAPSHOT: producer_snapshot,
}
_PLAIN: dict[Kind, Callable[[bytes], Contents[Any]]] = {
    Kind.LEADER_EPOCHS: leader_epochs,
    Kind.META_PROPERTIES: meta_properties,
    Kind.PARTITION_METADATA: partition_metadata,
    Kind.QUORUM_STATE: quorum_state,
    Kind.CLEAN_SHUTDOWN: clean_shutdown,
}
READABLE = frozenset({*_WITH_OFFSET, *_PLAIN, *OFFSET_CHECKPOINTS})
"""The kinds that `read_log_file` reads; LOG and CHECKPOINT hold record batches, and are read with them."""
TEXTS = READABLE - frozenset(_WITH_OFFSET)
"""Those of them that are text: checkpoints, properties, JSON."""


def read_log_file(path: str | os.PathLike[str]) -> Contents[Any]:
    """What the file says; what it is, and its base offset, are taken from its name.

    Raises:
        InputError: It cannot be read, or its name is of no kind in READABLE.

    """
    file = path_of(path)
    name = file_name(file.name)
    if name.kind not in READABLE:
        segment = f"a segment has to be named as Kafka does, {0:020}.log"
        known = "record batches" if name.kind in BATCH_KINDS else f"no index, snapshot or checkpoint; {segment}"
        raise InputError(f"by its name it holds {known}", file=str(file))
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None
    return read_contents(data, name)


def read_contents(data: bytes, name: FileName) -> Contents[Any]:
    """The bytes of a file of this name. Never raises for bytes.

    Raises:
        InputError: The name is of no kind in READABLE.

    """
    if name.kind in _WITH_OFFSET:
        return _WITH_OFFSET[name.kind](data, name.base_offset)
    if name.kind in _PLAIN:
        return _PLAIN[name.kind](data)
    if name.kind in OFFSET_CHECKPOINTS:
        return offset_checkpoint(data, name.kind)
    raise InputError(f"a file of kind {name.kind} is not read here")
