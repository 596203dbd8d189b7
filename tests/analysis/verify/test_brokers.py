"""A small broker writes logs of every kind, compacts them and deletes their begin: nothing of that is a fault."""

import copy
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, strategies as st
from kit.commands import examples

IDEMPOTENT, TRANSACTIONAL = (1, 2), (3, 4, 5)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.just(-1), st.integers(1, 3)),
        st.tuples(st.just("data"), st.sampled_from(IDEMPOTENT + TRANSACTIONAL), st.integers(1, 3)),
        st.tuples(st.just("data"), st.sampled_from(TRANSACTIONAL), st.integers(1, 3)),
        st.tuples(
            st.sampled_from(["commit", "abort", "commit and bump", "abort and bump"]),
            st.sampled_from(TRANSACTIONAL),
            st.just(0),
        ),
        st.tuples(st.just("bump"), st.sampled_from(IDEMPOTENT), st.just(0)),
        st.tuples(st.just("roll"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@dataclass
class State:
    epoch: int = 0
    sequence: int = 0
    first: int = -1
    coordinator: int = -1
    time: int = -1
    last: tuple = (-1, -1, 0)
    shown: bool = False

    def row(self, producer):
        return (producer, self.epoch_shown, *self.last, self.time, self.coordinator, self.first)

    epoch_shown: int = 0


@dataclass
class Written:
    data: bytes
    base: int
    last: int
    time: int
    producer: int = -1
    control: bool = False
    transaction: int = -1  # the first offset of the transaction that it is of, or ends


@dataclass
class Broker:
    folder: object
    offset: int = 0
    time: int = 0
    states: dict = field(default_factory=dict)
    segments: dict = field(default_factory=lambda: {0: []})
    aborted: dict = field(default_factory=lambda: {0: []})
    snapshots: dict = field(default_factory=dict)

    def run(self, events):
        for kind, producer, count in events:
            self.time += 3
            if kind == "roll":
                self.roll()
            elif kind == "bump":
                state = self.states.setdefault(producer, State())
                state.epoch, state.sequence = state.epoch + 1, 0
            elif kind in {"plain", "data"}:
                self.data(producer, count)
            else:
                self.end(producer, commit=kind.startswith("commit"), bump=kind.endswith("bump"))
        self.snapshot()

    def roll(self):
        if self.offset not in self.segments:
            self.segments[self.offset], self.aborted[self.offset] = [], []
            self.snapshot()

    def snapshot(self):
        self.snapshots[self.offset] = [
            copy.copy(state).row(producer) for producer, state in self.states.items() if state.shown
        ]

    def put(self, data, count, **more):
        segment = self.segments[max(self.segments)]
        segment.append(Written(data, self.offset, self.offset + count - 1, self.folder.time + self.time, **more))
        self.offset += count

    def data(self, producer, count):
        time = self.folder.time + self.time
        if producer < 0:
            self.put(self.folder.batch(self.offset, count, time=time), count)
            return
        state, transactional = self.states.setdefault(producer, State()), producer in TRANSACTIONAL
        if transactional and state.first < 0:
            state.first = self.offset
        options = {
            "producer": producer,
            "epoch": state.epoch,
            "sequence": state.sequence,
            "transactional": transactional,
            "time": time,
        }
        data = self.folder.batch(self.offset, count, **options)
        state.sequence += count
        state.last, state.time, state.shown, state.epoch_shown = (
            (state.sequence - 1, self.offset + count - 1, count - 1),
            time,
            True,
            state.epoch,
        )
        self.put(data, count, producer=producer, transaction=state.first)

    def end(self, producer, *, commit, bump):
        state = self.states.setdefault(producer, State())
        first, marker = state.first, self.offset
        if bump:
            state.epoch, state.sequence = state.epoch + 1, 0
        if state.epoch != state.epoch_shown:
            state.last = (-1, -1, 0)
        state.first, state.coordinator, state.time, state.shown, state.epoch_shown = (
            -1,
            7,
            self.folder.time + self.time,
            True,
            state.epoch,
        )
        data = self.folder.marker(
            marker, producer=producer, epoch=state.epoch, commit=commit, coordinator=7, time=state.time
        )
        self.put(data, 1, producer=producer, control=True, transaction=first)
        if first >= 0 and not commit:
            stable = min((other.first for other in self.states.values() if other.first >= 0), default=marker + 1)
            self.aborted[max(self.aborted)].append((producer, first, marker, stable))

    def compact(self, choose):
        """Take batches out of all segments but the last: data unless it is a producer's last, markers of transactions
        that have no data left.
        """
        everything = [batch for segment in self.segments.values() for batch in segment]
        kept_for = {batch.producer: batch for batch in everything if not batch.control}
        for base in sorted(self.segments)[:-1]:
            self.segments[base] = [
                b for b in self.segments[base] if b.control or b is kept_for.get(b.producer) or choose()
            ]
        left = {(b.producer, b.transaction) for segment in self.segments.values() for b in segment if not b.control}
        for base in sorted(self.segments)[:-1]:
            gone = {
                b.base
                for b in self.segments[base]
                if b.control and (b.producer, b.transaction) not in left and choose()
            }
            self.segments[base] = [b for b in self.segments[base] if b.base not in gone]
            self.aborted[base] = [row for row in self.aborted[base] if row[2] not in gone]

    def write(self, first=0, *, with_snapshots=True):
        for base, batches in self.segments.items():
            if base < first:
                continue
            positions, at = [], 0
            for batch in batches:
                positions.append((batch.last, at))
                at += len(batch.data)
            self.folder.put(base, "log", *(batch.data for batch in batches))
            self.folder.offsets(base, *positions[1::2]).times(
                base, *((batch.time, batch.last) for batch in batches[::2])
            )
            self.folder.aborted(base, *self.aborted[base])
        for offset, rows in self.snapshots.items():
            if with_snapshots and offset >= first:
                self.folder.put(offset, "snapshot", self.folder.snapshot(*rows))


@examples(90)
@given(events=EVENTS, data=st.data())
def test_what_brokers_do_is_no_fault(folder_at, events, data):
    path = Path(tempfile.mkdtemp()) / "t-0"
    path.mkdir()
    try:
        broker = Broker(folder_at(path))
        broker.run(events)
        if data.draw(st.booleans(), "compact"):
            broker.compact(lambda: data.draw(st.booleans()))
        first = data.draw(st.sampled_from(sorted(broker.segments)), "first")
        broker.write(first, with_snapshots=data.draw(st.booleans(), "snapshots"))
        assert broker.folder.faults(deep=True) == []
    finally:
        shutil.rmtree(path.parent)
