"""A capture from file to events: the steps together, and what they have to say beside the events."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from kwire_cli.source.capture import files
from kwire_cli.source.capture.origin import ALONE
from kwire_cli.source.capture.segments import Segments
from kwire_cli.source.capture.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.capture.events import Event
    from kwire_cli.source.capture.model import Notice
    from kwire_cli.source.capture.pcapng import Secrets


BATCH = 256
"""Packets whose events are made together. What is done at once to many things of a kind is done faster; too many of them leave the fast caches.

Lines that come late find their place among those of a batch.
"""


class Capture:
    """The events of a capture's TCP connections; iterate once. Of TLS, what was said in it, where the file or `key_logs` (paths) have the keys.

    `packets`, `segments`, `streams` and `tls` are the steps, with what each knows; `notices`, `secrets` and `summary` fill while the capture is read.
    """

    def __init__(self, source: str | os.PathLike[str] | IO[bytes], limits: Limits | None = None, *, key_logs: Sequence[str] = ()) -> None:
        self.packets = files.packets(source)
        self.origin = ALONE
        self.segments = Segments()
        self.streams = Streams(limits)
        self.tls = Decryption(key_logs, lambda: self.packets.secrets)

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self.packets.name

    @property
    def notices(self) -> list[Notice]:
        """What ended the reading early, or was passed over."""
        return self.packets.notices

    @property
    def remarks(self) -> list[str]:
        """What should be known of all packets."""
        return self.packets.remarks

    @property
    def secrets(self) -> list[Secrets]:
        """What the file holds for decryption."""
        return self.packets.secrets

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
        for packets in self.packets.batches():
            for first in range(0, len(packets), BATCH):
                events: list[Event] = []
                for segment in self.segments(packets[first : first + BATCH]):
                    events += feed(segment)
                yield self.tls.take(events)
        self.segments.close()
        yield self.tls.take(self.streams.close())


def unseen(segments: Segments, streams: Streams) -> dict[str, int]:
    """What of a capture is in no event, counted by kind."""
    fragments = {"incomplete datagrams": segments.fragments.incomplete, "differing fragments": segments.fragments.differing}
    sizes = {f"{kind} bytes": size for kind, size in streams.counts.items()}
    return {kind: count for kind, count in (segments.other | fragments | sizes).items() if count}


def events(source: str | os.PathLike[str] | IO[bytes], limits: Limits | None = None) -> Iterator[Event]:
    """The events of a capture: a path, or a binary file object. InputError when it can't be read or is no capture."""
    yield from Capture(source, limits)
