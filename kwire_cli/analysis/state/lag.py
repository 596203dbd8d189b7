"""Lag of committed offsets, from the ends of the logs of their partitions.

Lag is the number of offsets from a committed offset to the end of the log, as in kafka-consumer-groups. The logs are in
the log directories of `__consumer_offsets`. If there are several replicas of a partition, the longest log counts. Only
the end of the last segment is read, from the last entry of its offset index on, because logs may be large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import Note
from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError, few
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition
from kwire_cli.source.logs.model import Kind, folder_name
from kwire_cli.spec.kafka import CONSUMER_OFFSETS
from kwire_cli.stores.opening import FileBytes
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kwire_cli.records.batch import Source
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.source.logs.files import Partition
    from kwire_cli.stores.paths import Place

    Row = dict[str, Any]
    Named = tuple[str, int]
    """A topic and the number of its partition."""

BELOW = "BELOW_LOG_START"
BEYOND = "BEYOND_LOG_END"
"""Reasons why a fetch at a committed offset gets OFFSET_OUT_OF_RANGE."""
_OF_OFFSET = ("lag", "outOfRange", "logStartOffset", "logEndOffset")
_TOTALS = ("lag", "outOfRange", "lagUnknown")
_INDEX = fixed(OFFSET_INDEX_ENTRY)


class Ends(NamedTuple):
    """The first offset of a log, and its end, which is the offset after its last record.

    `limit` is the offset up to which consumers can read: the high watermark if it is known.
    """

    start: int
    end: int
    limit: int


def add_lag(rows: Mapping[str, list[Row]], files: Iterable[LogFile]) -> list[Note]:
    """Add the ends of logs to rows of committed offsets, and totals to rows of groups. Return a note on missing logs.

    The rows are unchanged if the log directories of `files` contain none of the logs with committed offsets.
    """
    places = sorted({(row["topic"], row["partition"]) for row in rows["offsets"]})
    ends = _read_ends(places, files)
    if ends:
        _add(rows, ends)
    unknown = [f"{topic}-{number}" for topic, number in places if (topic, number) not in ends]
    if not unknown:
        return []
    what = "no lag of some offsets" if ends else "no lag"
    return [Note(f"{what}: the logs of {few(unknown)} are not beside {CONSUMER_OFFSETS}, or not readable", "warning")]


def _add(rows: Mapping[str, list[Row]], ends: Mapping[Named, Ends]) -> None:
    """Add the columns of lag. Replicas of the same coordinator partition count once for a group."""
    totals: dict[tuple[str, int | None], Row] = {}
    replicas: set[tuple[Any, ...]] = set()
    for row in rows["offsets"]:
        place = row["topic"], row["partition"]
        row.update(_of_offset(row["offset"], ends.get(place)))
        of_group = row["group"], row.get("logPartition")
        total = totals.setdefault(of_group, dict.fromkeys(_TOTALS, 0))
        if (*of_group, *place) not in replicas:
            replicas.add((*of_group, *place))
            total["lag"] += row["lag"] or 0
            total["outOfRange"] += row["outOfRange"] is not None
            total["lagUnknown"] += row["lag"] is None
    for group in rows["groups"]:
        total = totals.get((group["group"], group.get("logPartition")), dict.fromkeys(_TOTALS))
        if total["lagUnknown"] and total["lagUnknown"] == group["offsets"]:
            total["lag"] = None
        group.update(total)


def _of_offset(offset: int, log: Ends | None) -> Row:
    """Return the columns of lag for a committed offset, from the ends of its log."""
    if log is None:
        return dict.fromkeys(_OF_OFFSET)
    beyond = BEYOND if offset > log.end else None
    out_of_range = BELOW if offset < log.start else beyond
    return dict(zip(_OF_OFFSET, (max(log.limit - offset, 0), out_of_range, log.start, log.end), strict=True))


def _read_ends(places: Collection[Named], files: Iterable[LogFile]) -> dict[Named, Ends]:
    """Return the ends of partitions whose logs are in the log directories of files.

    The longest log of several replicas counts. Folders and files that cannot be read count as missing.
    """
    found: dict[Named, Ends] = {}
    for directory in _directories(files):
        try:
            children = {child.name: child for child in directory.iterdir()}
        except (OSError, InputError):
            continue
        starts = _checkpoint(directory / Kind.LOG_START_OFFSETS)
        high_watermarks = _checkpoint(directory / Kind.REPLICATION_OFFSETS)
        for place in places:
            folder = children.get(f"{place[0]}-{place[1]}")
            if folder is None or not folder.is_dir():
                continue
            try:
                ends = ends_of(partition(folder), starts.get(place), high_watermarks.get(place))
            except InputError:
                continue
            if ends:
                found[place] = max(found.get(place, ends), ends, key=lambda log: (log.end, log.limit))
    return found


def _directories(files: Iterable[LogFile]) -> dict[Place, None]:
    directories: dict[Place, None] = {}
    for file in files:
        if file.path is None:
            continue
        folder = file.path.parent
        if folder_name(folder.name) is None:
            folder = folder.resolve()  # "." has the name of the folder, too
        if folder_name(folder.name):
            directories[folder.parent] = None
    return directories


def _checkpoint(file: Place) -> Mapping[Named, int]:
    try:
        if not file.is_file():
            return {}
        return {(entry.topic, entry.partition): entry.offset for entry in read_log_file(file).entries}
    except (OSError, InputError):
        return {}


def ends_of(part: Partition, start: int | None = None, high_watermark: int | None = None) -> Ends | None:
    """Return the ends of a partition's log, or None if its folder has no segment.

    `start` and `high_watermark` come from the checkpoints of the log directory. Bytes that are no batch do not count.

    Raises:
        InputError: A file cannot be read.

    """
    logs = [file for file in part.of(Kind.LOG) if file.name.base_offset is not None]
    if not logs:
        return None
    first = logs[0].name.base_offset or 0
    base = end = logs[-1].name.base_offset or 0
    source = source_of(logs[-1].path)
    for item in read_items(source, _last_entry(part, base, source)):
        if isinstance(item, Batch) and item.crc_valid:
            end = max(end, item.head.last_offset + 1)
    limit = end if high_watermark is None else min(high_watermark, end)
    return Ends(max(first, min(start or 0, end)), end, limit)


def _last_entry(part: Partition, base: int, source: Source) -> int:
    """Return the position of the last batch in the index of a segment, or 0 if the index is wrong."""
    file = part.at(Kind.INDEX, base)
    try:
        # A broker allocates an index at its full size: zeros follow the entries.
        data = bytes(FileBytes(file.path).view()).rstrip(b"\0") if file else b""
    except InputError:
        return 0
    last = data[(len(data) - 1) // _INDEX.size * _INDEX.size :].ljust(_INDEX.size, b"\0")
    relative, position = _INDEX.unpack(last, 0)
    batch = next(read_items(source, max(position, 0)), None)
    is_right = isinstance(batch, Batch) and batch.crc_valid and base <= batch.head.base_offset <= base + relative
    return max(position, 0) if is_right else 0
