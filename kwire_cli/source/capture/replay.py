"""The events between two ends, from segments that others have found: what a capture of all connections gives for these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.capture.events import Start
from kwire_cli.source.capture.origin import ALONE
from kwire_cli.source.capture.reading import BATCH
from kwire_cli.source.capture.tcp import Streams
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.source.capture.descriptors import Run
    from kwire_cli.source.capture.events import Event
    from kwire_cli.source.capture.origin import Origin
    from kwire_cli.source.capture.pcapng import Secrets
    from kwire_cli.source.capture.tcp import Limits


class Replay:
    """The events between the two ends in `ends`; iterate once. `last` is the number of the capture's last packet. Of TLS, what was said in it.

    `starts` are the first packets of the connections by number, as they come, counted file by file; `origin` says in which files packets are.
    """

    def __init__(
        self,
        ends: bytes,
        runs: Iterable[Run],
        last: int,
        limits: Limits | None = None,
        secrets: Sequence[Secrets] = (),
        origin: Origin = ALONE,
    ) -> None:
        self.ends, self.last, self.origin = ends, last, origin
        self.tls = Decryption((), lambda: secrets)
        self.streams = Streams(limits)
        self.starts: dict[int, int] = {}
        self.runs = runs

    def waiting_since(self) -> int | None:
        """The lowest packet whose bytes are in no event yet; None where all are."""
        return self.streams.waiting_since()

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """The events of a few packets at a time."""
        for taken in self._batches():
            events = self.tls.take(taken)
            for event in events:
                if type(event) is Start:
                    self.starts[event.connection] = self.origin.number(event.packet)
            yield events

    def _batches(self) -> Iterator[list[Event]]:
        feed, idle = self.streams.feed, self.streams.idle
        events: list[Event] = []
        taken = 0
        for run in self.runs:
            for segment in run.segments(self.ends):
                if waited := idle(segment.packet - 1):
                    events += waited
                events += feed(segment)
                taken += 1
                if taken == BATCH:
                    yield events
                    self.origin.forget(self.waiting_since() or segment.packet)
                    events, taken = [], 0
        yield events
        yield [*idle(self.last), *self.streams.close()]
