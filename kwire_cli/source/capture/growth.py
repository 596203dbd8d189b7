"""How far a capture that grows is whole, and what reading has to know there to go on when more has come."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kwire_cli.source.capture.model import NO_TIME
from kwire_cli.source.capture.parts import CHUNK, Part, PartReader, begin, mapped, packed
from kwire_cli.source.capture.pcapng import MAX_BLOCK


@dataclass(frozen=True, slots=True)
class Grown:
    """Packets that have come: `part` is where they are, `onward` where reading goes on; how many they are, and the time of the first."""

    part: Part
    onward: Part
    packets: int
    first: int = NO_TIME


def grown(onward: Part, upto: int, *, least: int = 1) -> Grown:
    """The packets that are whole from the start of a part on, as far as they end at `upto` or before; `least` at least, if there are so many.

    Raises:
        InputError: It cannot be read, or is no capture yet.

    """
    data = mapped(onward.file)
    reader, at = begin(data, onward.file, onward.lead, onward.packets)
    at = max(at, onward.start)
    stop = min(upto, len(data))
    first, latest, most = NO_TIME, onward.moment, CHUNK
    while True:
        packets, after = reader.read(data, at, stop, most)
        if len(packets):
            first = int(packets.time[0]) if first == NO_TIME else first
            latest = max(latest, int(packets.time.max()))
        if after > at:
            at = after
            if most == least:
                break
        elif reader.number - onward.packets < least and stop < len(data):
            stop, most = min(stop + MAX_BLOCK, len(data)), least
        else:
            break
    later = Part(onward.file, at, None, tuple(reader.lead), reader.number, latest)
    return Grown(replace(onward, stop=at), later, reader.number - onward.packets, first)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A packed file: how many packets it has, the time of the first, and whether it is whole."""

    packets: int
    first: int
    whole: bool


def unpacked(file: str) -> Unpacked | None:
    """What is in a packed file; None of one that is not packed.

    Raises:
        InputError: As `grown`.

    """
    if not packed(mapped(file)):
        return None
    reader = PartReader(Part(file), CHUNK)
    count, first = 0, NO_TIME
    for _, packets in reader.chunks():
        first = int(packets.time[0]) if first == NO_TIME else first
        count += len(packets)
    return Unpacked(count, first, not reader.notices)
