"""The events of one connection from segments that others have found: what a capture of all connections gives for it."""

from itertools import islice

from kwire_cli.source.captures import BATCH, Capture
from kwire_cli.source.packets.model import ALONE, Start
from kwire_cli.source.packets.tcp import Streams
from kwire_cli.source.tls.decryption import Decryption


class Replay(Capture):
    """The events between the two ends in `ends`; iterate once. `last` is the number of the capture's last packet.

    `starts` are the first packets of the connections by number, counted file by file.
    """

    def __init__(self, ends, runs, last, secrets=(), origin=ALONE):
        self.ends = ends
        self.runs = runs
        self.last = last
        self.origin = origin
        self.tls = Decryption((), lambda: secrets)
        self.streams = Streams()
        self.starts = {}

    def waiting_since(self):
        return self.streams.waiting_since()

    def batches(self):
        for taken in self._batches():
            events = self.tls.take(taken)
            for event in events:
                if type(event) is Start:
                    self.starts[event.connection] = self.origin.number(event.packet)
            yield events

    def _batches(self):
        segments = (segment for run in self.runs for segment in run.segments(self.ends))
        while some := [*islice(segments, BATCH)]:
            yield [event for each in some for event in (*self.streams.idle(each.packet - 1), *self.streams.feed(each))]
        yield [*self.streams.idle(self.last), *self.streams.close()]
