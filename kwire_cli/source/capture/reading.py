"""A capture from file to events: the steps together, and what they have to say beside the events."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture import files
from kwire_cli.source.capture.origin import Origin
from kwire_cli.source.capture.point_packets import PointFiles, PointPackets
from kwire_cli.source.capture.segments import Segments
from kwire_cli.source.capture.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.capture.events import Event
    from kwire_cli.source.capture.files import Packets
    from kwire_cli.source.capture.model import Notice, Packet
    from kwire_cli.source.capture.pcapng import Secrets


BATCH = 256
"""Packets whose events are made together. What is done at once to many things of a kind is done faster; too many of them leave the fast caches.

Lines that come late find their place among those of a batch.
"""


class Capture:
    """The events of a capture's TCP connections; iterate once. Of TLS, what was said in it, where the file or `key_logs` (paths) have the keys.

    The source is a file, or the files of a capture point.

    `packets`, `segments`, `streams` and `tls` are the steps, with what each knows; `notices`, `secrets` and `summary` fill while the capture is read.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes] | PointFiles,
        limits: Limits | None = None,
        *,
        key_logs: Sequence[str] = (),
    ) -> None:
        self.packets: Packets | PointPackets
        if isinstance(source, PointFiles):
            self.packets = PointPackets(source)
            self.origin = self.packets.origin
        else:
            self.packets = files.packets(source)
            self.origin = Origin(file=self.packets.name)
        self.segments = Segments()
        self.streams = Streams(limits)
        self.tls = Decryption(key_logs, lambda: self.packets.secrets)

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self.packets.name

    @property
    def again(self) -> str | PointFiles | None:
        """What to read the capture from once more; None if it came through a pipe."""
        if isinstance(self.packets, PointPackets):
            return None if self.packets.files.live else self.packets.files
        return self.name if self.name and path_of(self.name).is_file() else None

    @property
    def notices(self) -> list[Notice]:
        """What ended the reading early, or was passed over."""
        return self.packets.notices

    @property
    def remarks(self) -> list[str]:
        """What should be known of all packets."""
        return self.packets.remarks

    @property
    def noted(self) -> list[tuple[str | None, Notice]]:
        """The same, with the names of the files, if the capture has several."""
        if isinstance(self.packets, PointPackets):
            return self.packets.noted
        return [(self.name, notice) for notice in self.packets.notices]

    @property
    def secrets(self) -> list[Secrets]:
        """What the file holds for decryption."""
        return self.packets.secrets

    @property
    def passed(self) -> int:
        """Bytes of the files of a capture point that were read to their end."""
        return self.packets.passed if isinstance(self.packets, PointPackets) else 0

    @property
    def summary(self) -> dict[str, int]:
        """Packets that are not TCP, by kind; datagrams whose fragments are not all there; bytes of payload that are in no event, by reason."""
        return unseen(self.segments, self.streams)

    def waiting_since(self) -> int | None:
        """The lowest packet whose bytes are in no event yet; None where all are."""
        return self.streams.waiting_since()

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """The events of a few packets at a time, of those that have been read already: that takes less time than one by one."""
        feed = self.streams.feed
        for packets in self._packets():
            events: list[Event] = []
            for segment in self.segments(packets):
                events += feed(segment)
            yield self.tls.take(events)
            if self.origin.moving:
                self.origin.forget(self.waiting_since() or packets[0].number)
        self.segments.close()
        yield self.tls.take(self.streams.close())

    def _packets(self) -> Iterator[list[Packet]]:
        """The packets, BATCH at a time whatever the pieces and files that they come in; those of a pipe as they come."""
        live = self.again is None
        rest: list[Packet] = []
        fault: InputError | None = None
        try:
            for some in self.packets.batches():
                packets = rest + some if rest else some
                stop = len(packets) if live else len(packets) - len(packets) % BATCH
                for first in range(0, stop, BATCH):
                    yield packets[first : first + BATCH]
                rest = packets[stop:]
        except InputError as error:
            fault = error
        if rest:
            yield rest
        if fault:
            raise fault


def unseen(segments: Segments, streams: Streams) -> dict[str, int]:
    """What of a capture is in no event, counted by kind."""
    fragments = {"incomplete datagrams": segments.fragments.incomplete, "differing fragments": segments.fragments.differing}
    sizes = {f"{kind} bytes": size for kind, size in streams.counts.items()}
    return {kind: count for kind, count in (segments.other | fragments | sizes).items() if count}


def events(source: str | os.PathLike[str] | IO[bytes], limits: Limits | None = None) -> Iterator[Event]:
    """The events of a capture: a path, or a binary file object. InputError when it cannot be read or is no capture."""
    yield from Capture(source, limits)
