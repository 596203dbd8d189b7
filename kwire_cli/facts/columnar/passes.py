"""One pass over the files of a capture point: what each connection holds, many segments at a time.

The files follow each other, and are read in their order. Segments of a connection are gathered until there are enough
of them to be read at once, because reading them by column pays only for many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.packets.descriptors import Gathered, described, run_of
from kwire_cli.source.packets.parts import PartReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Scheduled
    from kwire_cli.source.packets.model import Notice, Origin

    Item = tuple[Stretch | Captured, EndsReader]
    MakeReader = Callable[[bytes], EndsReader]
    TakeNotices = Callable[[Scheduled, Sequence[Notice]], None]

ENOUGH = 4096
"""Segments of a connection that are read at once. They may come from several small files."""
MOST_HELD = 1 << 17
"""Maximum number of segments of all connections in memory."""
MOST_OVER = 4096
"""Maximum number of address pairs without an open connection that are kept for late segments."""


def point_items(
    parts: Sequence[Scheduled], origin: Origin, make_reader: MakeReader, notice: TakeNotices
) -> Iterator[Item]:
    """Yield the items of the connections in parts of files, each with the reader of its two addresses.

    The files follow each other in time. `origin` locates their packets. `make_reader` returns a reader for two
    addresses. `notice` receives the reasons for an early end of a part.
    """
    readers: dict[bytes, tuple[EndsReader, Gathered]] = {}
    held = 0
    for part in parts:
        reader = PartReader(part.part)
        for descriptor in described(part, reader, payloads=True):
            if descriptor.ends not in readers:
                readers[descriptor.ends] = make_reader(descriptor.ends), Gathered()
            ends, gathered = readers[descriptor.ends]
            held += gathered.add(run_of(descriptor))
            if gathered.count >= ENOUGH:
                held -= gathered.count
                yield from _read_segments(ends, gathered)
        notice(part, reader.notices)
        if held > MOST_HELD:
            held = 0
            for ends, gathered in readers.values():
                yield from _read_segments(ends, gathered)
            yield from _close_finished(readers, part.before)
    for ends, gathered in readers.values():
        yield from _read_segments(ends, gathered)
        yield from ((item, ends) for item in ends.close(origin.packets))


def _close_finished(readers: dict[bytes, tuple[EndsReader, Gathered]], packet: int) -> Iterator[Item]:
    """Close the oldest finished connections if there are too many of them, and yield their last items."""
    over = [key for key, (reader, _) in readers.items() if reader.is_over]
    for key in over[: max(len(over) - MOST_OVER, 0)]:
        reader, _ = readers.pop(key)
        yield from ((item, reader) for item in reader.close(packet))


def _read_segments(ends: EndsReader, gathered: Gathered) -> Iterator[Item]:
    yield from ((item, ends) for item in ends.take(gathered.take()))
