"""The tasks of a window of captures: some describe packets, others read the connections that they own.

All segments of a connection are shuffled to its owner. If the capture point continues in the next window, the owner
saves the state of the connection in the hidden folder of the run, and the state is shuffled with the segments of that
window. In the last window, the state that later runs need becomes a row of the table `carried`. The rows for an open
connection's end, valid only if no later file follows, belong to the unit of the capture point: the next run replaces
them.
"""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain as joined, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.frames import UNRESOLVED, resolved
from kwire_cli.facts.columnar.names import Learnt
from kwire_cli.facts.columnar.spool import Spool
from kwire_cli.lake.capture_faults import file_fault
from kwire_cli.lake.captures import LINES, PointTables, connection_cells
from kwire_cli.lake.descriptors import (
    DESCRIBED,
    MOST_BYTES,
    OWNED_BYTES,
    batches_with,
    describe_connection,
    descriptor,
    rows_in,
    rows_of,
)
from kwire_cli.lake.files import Files, scratch_file
from kwire_cli.lake.hidden import batches_of, put, put_stream
from kwire_cli.lake.inputs import point_unit, unit_of
from kwire_cli.lake.logs import shaped
from kwire_cli.lake.long_connections import KEPT, Follower, Lengths, kept_row
from kwire_cli.lake.tables import CARRIED as CARRIED_COLUMNS, CONNECTIONS_TABLE
from kwire_cli.lake.windows import files_of, opened_paths, origin_of, parts_of
from kwire_cli.message.known_layout import layouts
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.carried import Carrier, go_on
from kwire_cli.source.kafka.kept import taken_up
from kwire_cli.source.packets.descriptors import Described, run_of, size_of
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.lake.delta import Written
    from kwire_cli.lake.files import Target
    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.windows import Planned, Window
    from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.packets.parts import PartReader
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.stores.paths import Place

MOST_OWNERS = 2000
"""Tasks of a window that own connections: each of them fetches from each task that describes packets."""
MOST_OVER = 64
"""Maximum number of address pairs for which an owner keeps state after a window without open connections or packets."""
CARRIED = -2
"""The order of the state of a connection from an earlier run. It comes before the connection's segments."""
NO_ENDS = 0
"""In place of the packet of a carried state: the connection ends without rows if no segment follows."""
LONGEST_IDLE = 24 * 3600 * 1_000_000_000
"""Nanoseconds without a packet after which the state of a connection is dropped."""
NOT_CARRIED = (
    "a connection had too much unread when the file before it ended: it is read as one whose beginning is not captured"
)
_NOTICES = b""
"""In place of the addresses: the reason why the reading of a part ended early."""


@dataclass
class Done:
    """The files that tasks have written, and the names that they learnt, by capture point.

    Attributes:
        frames: Files of the hidden folder with frames whose names are not resolved, with the number of frames. The
            keys are the number of the capture point and the unit; a unit of None is the unit of each row's file.
        pieces: Files of the hidden folder with pieces of long connections, which other tasks read.
        carried: Files of the hidden folder with the state of connections for the next window.

    """

    made: list[Written] = field(default_factory=list)
    frames: dict[tuple[int, str | None], list[tuple[str, int]]] = field(default_factory=dict)
    learnt: dict[int, Learnt] = field(default_factory=dict)
    faults: int = 0
    """The number of unreadable items."""
    pieces: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)


def merge(one: Done, other: Done) -> None:
    """Add the results of another task or of a later window."""
    one.made += other.made
    for key, frames in other.frames.items():
        one.frames.setdefault(key, []).extend(frames)
    for number, learnt in other.learnt.items():
        one.learnt.setdefault(number, Learnt()).merge(learnt)
    one.faults += other.faults
    one.pieces += other.pieces
    one.carried += other.carried


@dataclass(frozen=True)
class Job:
    """The window that tasks read, with everything that they need.

    `carried` are files with the state of connections, from the window before and from earlier runs. Connections longer
    than `lengths` are cut into pieces.
    """

    hidden: Place
    target: Target
    window: Window
    carried: tuple[str, ...]
    wanted: Wanted
    secrets: tuple[Secrets, ...]
    lengths: Lengths | None = None
    former: Mapping[int, Learnt] = field(default_factory=dict)
    """The names of continued capture points that the lake contains."""
    has_one_owner: bool = False

    def knows_all_names(self, point: int) -> bool:
        """Return whether one task reads all of a capture point, so that it has learnt all names at its end."""
        window = self.window
        is_one_task = point in window.whole or (self.has_one_owner and self.lengths is None)
        return is_one_task and point not in {window.goes_on, window.went_on}


def owners_of(window: Window, cores: int) -> int:
    """Return the number of owner tasks of a window: several for each core, as they end at different times."""
    return cores * max(2, -(-min(window.size // OWNED_BYTES, MOST_OWNERS) // cores))


# Tasks that describe packets.


def described(job: Job, number: int) -> Iterator[pa.RecordBatch]:
    """Yield the descriptors in a pack of parts. Numbers after the last pack are the files with carried state."""
    if number < job.window.packs:
        yield from batches_with(descriptors_in(job, number), job.window.whole)
    else:
        yield from batches_of(job.hidden, job.carried[number - job.window.packs])


def descriptors_in(job: Job, number: int, *, payloads: bool = False) -> Iterator[Described]:
    """Yield the descriptors in a pack of parts with their readers' notices, or the descriptors in a carried file."""
    if number >= job.window.packs:
        yield from map(descriptor, rows_in(batches_of(job.hidden, job.carried[number - job.window.packs])))
        return
    parts = parts_of(job.window, job.hidden, number)
    notices: list[Described] = []

    def add_notices(at: int, reader: PartReader) -> None:
        if reader.notices:
            part = parts[at]
            pickled = pickle.dumps(reader.notices)
            notices.append(Described(part.point, _NOTICES, at, part.file, number, b"", pickled))

    yield from describe_connection(enumerate(parts), add_notices, payloads=payloads)
    yield from notices


# Tasks that own connections.


def read_connections(job: Job, found: Iterable[Described]) -> Done:
    """Write the rows of the connections in sorted descriptors, point by point."""
    done = Done()
    files = Files(job.target)
    for number, own in groupby(found, key=attrgetter("point")):
        owner = _Owner(job, number, files)
        for ends, some in groupby(own, key=attrgetter("ends")):
            if ends == _NOTICES:
                owner.notices(some)
            else:
                owner.connection(ends, some)
        owner.close(done)
    done.made += files.close()
    return done


def read_pieces(job: Job, names: Iterable[str]) -> Done:
    """Write the rows of pieces of long connections, given as files of the hidden folder."""
    done = Done()
    files = Files(job.target)
    for name in names:
        piece = map(descriptor, rows_in(batches_of(job.hidden, name)))
        kept = next(piece)
        owner = _Owner(job, kept.point, files)
        owner.piece(kept, piece)
        owner.close(done)
    done.made += files.close()
    return done


class _Owner:
    """The connections of a capture point that a task owns, and their rows."""

    def __init__(self, job: Job, number: int, files: Files) -> None:
        self._job = job
        self._number = number
        self._files = files
        self._point: Planned = job.window.points[number]
        self._goes_on = job.window.goes_on == number
        wanted = job.wanted
        redaction = Redaction(wanted.reading.catalog, show_secrets=wanted.reading.show_secrets)
        self._tables = PointTables(redaction, wanted.tables, self._write)
        self._unit: str | None = None
        self._files_of_point = files_of(self._point, job.hidden)
        self._frames: dict[str | None, Spool] = {}
        self._carries = self._point.carries and job.target.is_lake and not self._goes_on
        self._apart: dict[str, list[tuple[EndsReader, Stretch | Captured]]] = defaultdict(list)
        self._carried: list[tuple[str, int | None, str]] = []
        self._paths = opened_paths(job.hidden)
        self._learnt = Learnt()
        self._kept: list[Described] = []
        self._kept_batches: list[pa.RecordBatch] = []
        self._kept_size = 0
        self._faults = 0
        self._over = 0
        self._pieces: list[str] = []

    def notices(self, found: Iterable[Described]) -> None:
        """Write a fault for each part that could not be read completely."""
        for each in found:
            for text, position, packet in pickle.loads(each.kept or b""):  # noqa: S301 - our own
                self._faults += 1
                if "faults" in self._tables.tables:
                    row = file_fault(self._point.name, self._paths[each.file], packet, position, "TRUNCATED", text)
                    self._write("faults", row)

    def connection(self, ends: bytes, found: Iterator[Described]) -> None:
        """Write the rows of the connections between two addresses, with the segments of this window."""
        first = next(found)
        kept = first if first.order in {KEPT, CARRIED} else None
        segments = found if kept else joined([first], found)
        start = next(segments, None)
        if kept is not None and start is None and self._is_idle(kept):
            return
        segments = joined([start] if start else [], segments)
        origin = origin_of(self._point, self._files_of_point)
        names = self._tables.names  # this connection's names; names from other connections are resolved at the end
        reader, sessions, carrier = self._reader(ends, kept, origin)
        reader.lines.watch.on_ended = self._tables.ended.append  # a restored reader has lost it
        if (lengths := self._job.lengths) and self._number not in self._job.window.whole:
            self._read_or_follow(reader, carrier, segments, lengths)
        else:
            for each in segments:
                self._take(reader, carrier, each)
        self._write_ended()
        since = min(reader.starts.values(), default=0)
        if self._goes_on:
            self._keep(kept_row(self._number, ends, carrier, names.sessions, is_over=reader.is_over))
        else:
            self._end(reader, carrier)
        changed = {key: topics for key, topics in names.sessions.items() if sessions.get(key) != topics}
        names.sessions = changed
        self._learnt.merge(self._tables.told(since))

    def _is_idle(self, kept: Described) -> bool:
        """Return whether to skip a connection without segments. Its state is kept if a later window may use it."""
        if self._goes_on:
            self._over += kept.packet if kept.order == KEPT else 0
            if kept.order == CARRIED or not kept.packet or self._over <= MOST_OVER:
                self._keep(kept)
            return True
        if kept.order == CARRIED and kept.packet == NO_ENDS:
            text = (kept.kept or b"").decode()
            state = json.loads(text)
            latest = state["latest"]
            if self._is_recent(latest):
                self._carried.append((kept.ends.hex(), latest, text))
                self._write_open_connections(state)
                return True
        return False

    def _write_open_connections(self, state: Mapping[str, Any]) -> None:
        """Write the connections in a state as they were when the state was saved. The next run replaces these rows."""
        rows = state.get("connections")
        if rows and "connections" in self._tables.tables:
            self._write("connections", batch_of(rows, CONNECTIONS_TABLE), point_unit(self._point.name))

    def _is_recent(self, moment: int) -> bool:
        return self._point.latest - moment < LONGEST_IDLE

    def _end(self, reader: EndsReader, carrier: Carrier) -> None:
        """Write the rows of a connection's end, and keep the state that later files need."""
        state = carrier.state(self._point.last) if self._carries else None
        if state is None or not self._is_recent(carrier.latest):
            self._add(reader, reader.close(self._point.last))
            return
        sessions = [[broker, number, topics] for (broker, number), topics in self._tables.names.sessions.items()]
        ends: list[Stretch | Captured] = []
        if state.get("lost"):  # no later file completes its last bytes
            self._add(reader, reader.close(self._point.last))
        else:
            ends += reader.close(self._point.last)
        self._apart[point_unit(self._point.name)] += [(reader, item) for item in ends]
        open_connections = [connection_cells(each) for each in self._tables.ended]
        self._tables.ended.clear()
        state |= {
            "sessions": sessions,
            "has_ends": bool(ends),
            "latest": carrier.latest,
            "connections": open_connections,
        }
        self._write_open_connections(state)
        text = json.dumps(state, separators=(",", ":"))
        self._carried.append((reader.ends.hex(), carrier.latest, text))

    def _reader(
        self, ends: bytes, kept: Described | None, origin: Origin
    ) -> tuple[EndsReader, dict[tuple[str, int], list[str]], Carrier]:
        """Return a new or restored reader for two addresses, with its fetch sessions and the carrier of its state."""
        tls = Decryption((), lambda: self._job.secrets)
        catalog = layouts(self._job.wanted.reading.catalog)
        names = self._tables.names
        if kept is None:
            reader = self._tables.reader(ends, catalog, self._job.wanted.port, origin, tls)
            return reader, {}, Carrier(reader, self._job.wanted.reading.show_secrets)
        if kept.order == CARRIED:
            return self._continued(kept, self._tables.reader(ends, catalog, self._job.wanted.port, origin, tls))
        state, sessions, places, carried = pickle.loads(kept.kept or b"")  # noqa: S301 - our own
        names.sessions |= {key: [*topics] for key, topics in sessions.items()}
        origin.earlier = places
        reader = taken_up(state, catalog, names, origin, tls)
        return reader, sessions, Carrier(reader, self._job.wanted.reading.show_secrets, **carried)

    def _continued(
        self, kept: Described, reader: EndsReader
    ) -> tuple[EndsReader, dict[tuple[str, int], list[str]], Carrier]:
        """Continue a connection with its state from earlier runs."""
        state = json.loads(kept.kept or b"{}")
        sessions = {(broker, number): [*topics] for broker, number, topics in state.get("sessions", ())}
        self._tables.names.sessions |= {key: [*topics] for key, topics in sessions.items()}
        if state.get("lost") and "faults" in self._tables.tables:
            file = self._paths[self._point.start]
            self._write("faults", file_fault(self._point.name, file, None, None, "NOT_CARRIED", NOT_CARRIED))
        carrier, lines = go_on(reader, state, shows_secrets=self._job.wanted.reading.show_secrets)
        self._add(reader, lines)
        carrier.latest = state.get("latest", NO_TIME)
        return reader, sessions, carrier

    def _read_or_follow(
        self, reader: EndsReader, carrier: Carrier, segments: Iterable[Described], lengths: Lengths
    ) -> None:
        """Write the rows of the first bytes of a connection, and cut the other bytes into pieces for other tasks."""
        names = self._tables.names
        read = 0
        follower = Follower(self._job.hidden, lengths, self._number, carrier, names.sessions, self._tables.learn)
        for each in segments:
            if read < lengths.own:
                read += size_of(each)
                self._take(reader, carrier, each)
            else:
                follower.follow(each, self._paths)
        follower.close()
        self._pieces += follower.pieces

    def piece(self, kept: Described, segments: Iterable[Described]) -> None:
        """Write the rows of a piece of a connection. The owner of the connection has learnt the names in it."""
        reader, _, _ = self._reader(kept.ends, kept, origin_of(self._point, self._files_of_point))
        for each in segments:
            self._add(reader, reader.take(run_of(each, self._paths)))
        learnt = self._tables.told(min(reader.starts.values(), default=0))
        self._learnt.merge(replace(learnt, names=Names()))

    def close(self, done: Done) -> None:
        """Write the remaining rows, and add the results to `done`."""
        self._write_ended(1)
        self._tables.flush()
        for unit, items in self._apart.items():
            self._unit = unit
            for reader, item in items:
                self._tables.add(item, reader.origin)
            self._tables.flush()
        self._learnt.merge(self._tables.told(0))
        if self._carried:
            carried = pa.RecordBatch.from_pylist(
                [dict(zip(CARRIED_COLUMNS.names, row, strict=True)) for row in self._carried], CARRIED_COLUMNS
            )
            self._files.add("carried", self._point.name, carried, point_unit(self._point.name))
        for frames_unit, spool in self._frames.items():
            if self._job.knows_all_names(self._number):
                names = self._job.former.get(self._number, Learnt()).with_others(self._learnt).names
                for rows in spool.taken():
                    self._files.add("frames", self._point.name, resolved(rows, names), frames_unit)
                continue
            name = f"_frames-{uuid4().hex}.arrows"
            count = put_stream(self._job.hidden / name, spool.taken(), UNRESOLVED)
            done.frames.setdefault((self._number, frames_unit), []).append((name, count))
        done.learnt[self._number] = self._learnt
        done.faults += self._faults
        done.pieces += self._pieces
        if self._kept:
            self._kept_batches.append(rows_of(self._kept))
        if self._kept_batches:
            name = f"_carried-{uuid4().hex}.arrow"
            put(self._job.hidden, name, self._kept_batches, DESCRIBED)
            done.carried.append(name)

    def _take(self, reader: EndsReader, carrier: Carrier, segments: Described) -> None:
        run = run_of(segments, self._paths)
        self._add(reader, carrier.lines(reader.take(run)))
        carrier.took(run)

    def _keep(self, each: Described) -> None:
        self._kept.append(each)
        self._kept_size += len(each.rows) + len(each.kept or b"")
        if self._kept_size > MOST_BYTES:
            self._kept_batches.append(rows_of(self._kept))
            self._kept = []
            self._kept_size = 0

    def _add(self, reader: EndsReader, items: Iterable[Stretch | Captured]) -> None:
        for item in items:
            if isinstance(item, Captured) and item.seen.packet <= self._point.first:
                unit = unit_of(self._paths[self._point.start])  # the file of the frame belongs to another run
                self._apart[unit].append((reader, item))
            else:
                self._tables.add(item, reader.origin)
        self._write_ended()

    def _write_ended(self, fewest: int = LINES) -> None:
        """Write the connections that have ended, if there are enough of them.

        The first packet of a connection that goes on is in a file of another run.
        """
        self._unit = unit_of(self._paths[self._point.start]) if self._point.first else None
        self._tables.connections(fewest)
        self._unit = None

    def _write(self, table: str, rows: pa.RecordBatch, unit: str | None = None) -> None:
        """Write rows of a unit; without a unit, each row belongs to the unit of its file."""
        unit = unit or self._unit
        if table == "frames":
            if unit not in self._frames:
                self._frames[unit] = Spool(scratch_file(f"{uuid4().hex}.arrows"))
            self._frames[unit].add(rows)
        else:
            self._files.add(table, self._point.name, shaped(table, rows), unit)
