"""What tasks do with a window of captures: they describe its packets, and read the connections that they own.

A connection is shuffled to its owner with all of its segments. If its capture point goes on, what the owner knows of it
is put away in the hidden folder of the run, and shuffled with the segments of the next window.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from itertools import chain as joined, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kwire_cli.facts.columnar.names import Learnt, merge_learnt
from kwire_cli.lake.capture_faults import file_fault
from kwire_cli.lake.captures import PointTables
from kwire_cli.lake.descriptors import (
    DESCRIBED,
    MOST_BYTES,
    OWNED_BYTES,
    describe_connection,
    descriptor,
    rows_in,
    rows_of,
)
from kwire_cli.lake.hidden import Stream, batches_of, put
from kwire_cli.lake.logs import shaped
from kwire_cli.lake.long_connections import KEPT, Follower, Lengths, kept_row
from kwire_cli.lake.windows import Opened, origin_of, parts_of
from kwire_cli.lake.writing import Files
from kwire_cli.message.known_layout import layouts
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.kept import taken_up
from kwire_cli.source.packets.descriptors import Described, in_turn, parted, runs, size_of
from kwire_cli.source.packets.model import Merged
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.windows import Planned, Window
    from kwire_cli.lake.writing import Written
    from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.packets.parts import PartReader
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.stores import Place

MOST_OWNERS = 2000
"""Tasks of a window that own connections: each of them fetches from each task that describes packets."""
MOST_OVER = 64
"""Pairs of ends that an owner keeps although nothing is open between them, and nothing came in a window."""
_NOTICES = b""
"""In place of ends: what ended the reading of a part early."""


@dataclass
class Done:
    """The files that tasks have written, by the key of their unit, and what they learnt, by capture point.

    Files of the hidden folder: `frames` are those with frames that have no names yet, by the key of their unit, and how
    many these are; `pieces` are those with pieces of long connections, which other tasks read; `carried` are those with
    what the next window takes up.
    """

    made: dict[str, list[Written]] = field(default_factory=dict)
    frames: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    learnt: dict[int, Learnt] = field(default_factory=dict)
    faults: int = 0
    """What could not be read."""
    pieces: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)


def merge(one: Done, other: Done) -> None:
    """Add what another task has done, or the tasks of a later window."""
    for key, made in other.made.items():
        one.made.setdefault(key, []).extend(made)
    for key, frames in other.frames.items():
        one.frames.setdefault(key, []).extend(frames)
    merge_learnt(one.learnt, other.learnt)
    one.faults += other.faults
    one.pieces += other.pieces
    one.carried += other.carried


@dataclass(frozen=True)
class Job:
    """The window that tasks read, and all that they need for it.

    `keys` begin the names of files of a capture point, by its number. `carried` are the files that the window before
    has left. Connections are cut at `lengths`.
    """

    hidden: Place
    form: str
    window: Window
    keys: Mapping[int, str]
    carried: tuple[str, ...]
    wanted: Wanted
    secrets: tuple[Secrets, ...]
    lengths: Lengths | None = None


def owners_of(window: Window, cores: int) -> int:
    """Return how many tasks own the connections of a window: some for each core, which end at different times."""
    return cores * max(2, -(-min(window.size // OWNED_BYTES, MOST_OWNERS) // cores))


# Tasks that describe packets.


def described(job: Job, number: int) -> Iterator[pa.RecordBatch]:
    """Yield the descriptors in a pack of parts, or what the window before has left: its files follow the packs."""
    if number < job.window.packs:
        yield from described_pack(job, number)
    else:
        yield from batches_of(job.hidden, job.carried[number - job.window.packs])


def described_pack(job: Job, number: int) -> Iterator[pa.RecordBatch]:
    """Yield the descriptors in a pack of parts, and the notices of their readers."""
    plan = parts_of(job.window, job.hidden, number)
    notices: list[Described] = []

    def tell(at: int, reader: PartReader) -> None:
        if reader.notices:
            part = plan.parts[at]
            told = pickle.dumps(reader.notices)
            notices.append(Described(part.point, _NOTICES, part.chain, part.file, at, number, b"", told))

    whole = job.window.whole
    yield from describe_connection(enumerate(plan.parts), tell, whole)
    if notices:
        yield rows_of(notices, whole)


# Tasks that own connections.


def read_connections(job: Job, rows: Iterable[tuple[Any, ...]]) -> Done:
    """Write the rows of the connections in sorted descriptors, point by point."""
    done = Done()
    for number, own in groupby(rows, key=itemgetter(0)):
        owner = _Owner(job, number)
        for ends, some in groupby(own, key=itemgetter(1)):
            if ends == _NOTICES:
                owner.notices(map(descriptor, some))
            else:
                owner.connection(ends, some)
        owner.close(done)
    return done


def read_pieces(job: Job, names: Iterable[str]) -> Done:
    """Write the rows of pieces of long connections, which are in these files of the hidden folder."""
    done = Done()
    for name in names:
        piece = map(descriptor, rows_in(batches_of(job.hidden, name)))
        kept = next(piece)
        owner = _Owner(job, kept.point)
        owner.piece(kept, piece)
        owner.close(done)
    return done


class _Owner:
    """The connections of a capture point that a task owns, and the rows that they make."""

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number = job, number
        self._point: Planned = job.window.points[number]
        self._goes_on = job.window.goes_on == number
        wanted = job.wanted
        redaction = Redaction(wanted.reading.catalog, show_secrets=wanted.reading.show_secrets)
        self._tables = PointTables(self._point.name, redaction, wanted.tables, wanted.filter)
        self._key = job.keys[number]
        self._files = Files(job.hidden, job.form, self._key, wanted.columns)
        self._frames: tuple[str, Stream] | None = None
        self._paths = Opened(job.hidden)
        self._learnt = Learnt()
        self._kept: list[Described] = []
        self._kept_batches: list[pa.RecordBatch] = []
        self._kept_size = self._faults = self._over = 0
        self._pieces: list[str] = []

    def notices(self, found: Iterable[Described]) -> None:
        """Write what ended the reading of parts early."""
        for each in found:
            for text, position, packet in pickle.loads(each.kept or b""):  # noqa: S301 - our own
                self._faults += 1
                if "faults" in self._tables.tables:
                    row = file_fault(self._point.name, self._paths[each.file], packet, position, "TRUNCATED", text)
                    self._put("faults", row)

    def connection(self, ends: bytes, rows: Iterator[tuple[Any, ...]]) -> None:
        """Write the rows of what is between two ends, as far as the window knows it."""
        found: Iterator[Described] = map(descriptor, rows)
        first = next(found)
        kept = first if first.chain == KEPT else None
        if kept is not None:
            first_segments = next(found, None)
            if first_segments is None and self._goes_on:
                self._over += kept.packet
                if not kept.packet or self._over <= MOST_OVER:
                    self._keep(kept)
                return
            found = joined([first_segments] if first_segments else [], found)
        else:
            found = joined([first], found)
        later: list[Described] = []
        if (upto := self._job.window.upto) is not None and self._goes_on:
            found = self._before(upto, found, later)
        origin = origin_of(self._point, self._number, self._job.hidden)
        names = self._tables.names  # a connection's own: what others tell stands at the end only
        reader, sessions = self._reader(ends, kept, origin)
        if lengths := self._job.lengths:
            self._read_or_follow(reader, ends, in_turn(found, lengths.at_once(origin)), lengths)
        else:
            for run in runs(found, self._paths, origin):
                self._add(reader, reader.take(run))
        since = min(reader.starts.values(), default=0)
        if self._goes_on:
            is_over = reader.is_over and not later
            self._keep(kept_row(self._number, ends, reader, names.sessions, is_over=is_over))
            for each in later:
                self._keep(each)
        else:
            self._add(reader, reader.close(self._point.last))
        changed = {key: topics for key, topics in names.sessions.items() if sessions.get(key) != topics}
        names.sessions = changed
        self._learnt.merge(self._tables.told(since))

    def _reader(
        self, ends: bytes, kept: Described | None, origin: Origin
    ) -> tuple[EndsReader, dict[tuple[str, int], list[str]]]:
        """Return a reader of what is between two ends, or the one that was put away, and the fetch sessions of it."""
        tls = Decryption((), lambda: self._job.secrets)
        catalog, names = layouts(self._job.wanted.reading.catalog), self._tables.names
        if kept is None:
            return self._tables.reader(ends, catalog, self._job.wanted.port, origin, tls), {}
        state, sessions, told = pickle.loads(kept.kept or b"")  # noqa: S301 - our own
        names.sessions |= {key: [*topics] for key, topics in sessions.items()}
        if isinstance(origin, Merged):
            origin.go_on(*told)
        return taken_up(state, catalog, names, origin, tls), sessions

    def _read_or_follow(
        self, reader: EndsReader, ends: bytes, groups: Iterable[list[Described]], lengths: Lengths
    ) -> None:
        """Write the rows of the first bytes of a connection, and leave the others to other tasks in pieces."""
        names, read = self._tables.names, 0
        follower = Follower(self._job.hidden, lengths, self._number, ends, reader, names.sessions, self._tables.learn)
        for some in groups:
            if read < lengths.own:
                read += sum(map(size_of, some))
                for run in runs(some, self._paths, reader.origin):
                    self._add(reader, reader.take(run))
            else:
                follower.follow(some, self._paths)
        follower.close()
        self._pieces += follower.pieces

    def piece(self, kept: Described, segments: Iterable[Described]) -> None:
        """Write the rows of a piece of a connection. Its owner has learnt the names in it."""
        reader, _ = self._reader(kept.ends, kept, origin_of(self._point, self._number, self._job.hidden))
        for run in runs(segments, self._paths, reader.origin):
            self._add(reader, reader.take(run))
        told = self._tables.told(min(reader.starts.values(), default=0))
        self._learnt.merge(replace(told, names=Names()))

    def close(self, done: Done) -> None:
        """Write what is left, and say what was done."""
        for table, rows in self._tables.close():
            self._put(table, rows)
        done.made.setdefault(self._key, []).extend(self._files.close())
        if self._frames is not None:
            name, stream = self._frames
            stream.close()
            done.frames.setdefault(self._key, []).append((name, stream.rows))
        done.learnt[self._number] = self._learnt
        done.faults += self._faults
        done.pieces += self._pieces
        if self._kept:
            self._kept_batches.append(rows_of(self._kept))
        if self._kept_batches:
            name = f"_carried-{uuid4().hex}.arrow"
            put(self._job.hidden, name, self._kept_batches, DESCRIBED)
            done.carried.append(name)

    @staticmethod
    def _before(upto: int, found: Iterable[Described], later: list[Described]) -> Iterator[Described]:
        for each in found:
            before, after = parted(each, upto)
            if after:
                later.append(after)
            if before:
                yield before

    def _keep(self, each: Described) -> None:
        self._kept.append(each)
        self._kept_size += len(each.rows) + len(each.kept or b"")
        if self._kept_size > MOST_BYTES:
            self._kept_batches.append(rows_of(self._kept))
            self._kept, self._kept_size = [], 0

    def _add(self, reader: EndsReader, items: Iterable[Stretch | Captured]) -> None:
        for item in items:
            for table, rows in self._tables.item(item, reader):
                self._put(table, rows)

    def _put(self, table: str, rows: pa.RecordBatch) -> None:
        if table == "frames":
            if self._frames is None:
                name = f"_frames-{uuid4().hex}.arrows"
                self._frames = name, Stream(self._job.hidden / name, rows.schema)
            self._frames[1].add(rows)
        elif table != "names":  # those of one task say nothing yet
            self._files.add(table, self._point.name, shaped(table, rows))
