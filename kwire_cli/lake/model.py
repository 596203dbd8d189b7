"""The kinds of files that inputs are, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.records.codecs import Limits
from kwire_cli.source.files import Naming, named
from kwire_cli.source.kinds import Kind as InputKind, begins_as
from kwire_cli.source.logs.files import logs_in
from kwire_cli.source.logs.model import BATCH_KINDS, OFFSET_CHECKPOINTS, Kind as LogKind, file_name
from kwire_cli.source.packets.files import NAME, captures_in
from kwire_cli.spec.catalog import Catalog, catalog
from kwire_cli.stores import absolute, in_parallel, is_text, location, path_of, refuse_bytes
from kwire_cli.stores.opening import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kwire_cli.stores.opening import Tree


# Which inputs are segments, indexes, captures or request logs: a table is made of files of its kind, and
# leaves the others to other tables.

INDEX_KINDS = OFFSET_CHECKPOINTS | {
    LogKind.INDEX,
    LogKind.TIME_INDEX,
    LogKind.TRANSACTION_INDEX,
    LogKind.PRODUCER_SNAPSHOT,
    LogKind.LEADER_EPOCHS,
}
"""Files of a log directory that have entries and no batches."""


class Kind(NamedTuple):
    """Files of a kind: `what` errors call one, those in a folder, and whether a file that is named is one, `itself` or
    by a glob.
    """

    what: str
    within: Callable[[Tree], Iterable[str]]
    is_one: Callable[[str, bool], bool]


class Found(NamedTuple):
    """A file of a kind, by its absolute path, as tasks run elsewhere."""

    kind: Kind
    file: str


def found(paths: Sequence[str], *kinds: Kind) -> list[Found]:
    """Return the files of these kinds that paths and globs name, each once, in the order in which they were given.

    In a folder the files of the first kind come first. A file in a folder whose path is not UTF-8 has its escaped path,
    at which no file is: it becomes a fault as files do that cannot be opened.

    Raises:
        InputError: There is nothing of a name, no file of any of these kinds in all of them, or a path is not UTF-8.

    """
    files: dict[tuple[Kind, str], Found] = {}
    for path in paths:
        for matched in named(path):
            name, itself = absolute(matched), path_of(matched) == path_of(path)
            folder = tree(path_of(name)) if path_of(name).is_dir() else None
            for kind in kinds:
                some = kind.within(folder) if folder else [name] if kind.is_one(name, itself) else []
                for file in some:
                    named_as = location(file) if folder and not is_text(file) else file
                    files.setdefault((kind, named_as), Found(kind, named_as))
    if not files:
        raise InputError(f"there is no {' and no '.join(kind.what for kind in kinds)} in this", file=", ".join(paths))
    for file_of_kind in files.values():
        refuse_bytes(file_of_kind.file)
    return [*files.values()]


def _segments_within(folder: Tree) -> Iterator[str]:
    paths = (str(file.path) for file in logs_in(folder) if file.kind in BATCH_KINDS)
    return _those(paths, lambda path: file_name(path_of(path).name).is_sure or not _is_request_log(path))


def _indexes_within(folder: Tree) -> Iterator[str]:
    return (str(file.path) for file in logs_in(folder) if file.kind in INDEX_KINDS)


def _request_logs_within(folder: Tree) -> Iterator[str]:
    files = (path for path in folder.files() if path.is_file() and not file_name(path.name).is_sure)
    return _those(map(str, files), _is_request_log)


def _those(paths: Iterable[str], are: Callable[[str], bool]) -> Iterator[str]:
    """Return the paths for which `are` is true."""
    candidates = [*paths]
    return compress(candidates, in_parallel(are, candidates))


def _is_segment(path: str, itself: bool) -> bool:  # noqa: FBT001 - as `Kind` has it
    """Return whether a file is a segment or snapshot.

    A file that is named `itself` and is of no other kind is taken for one of these, whatever its name.
    """
    name = file_name(path_of(path).name)
    if name.kind in BATCH_KINDS and name.base_offset is not None:
        return True
    return (
        (name.kind in BATCH_KINDS or (itself and name.kind is LogKind.OTHER))
        and not _is_request_log(path)
        and not _is_capture(path)
    )


def _is_index(path: str) -> bool:
    return file_name(path_of(path).name).kind in INDEX_KINDS


def _is_capture(path: str) -> bool:
    """Return whether a file begins as a capture, or is named as one although it does not begin as one."""
    return bool(NAME.search(path_of(path).name)) or begins_as(path) is InputKind.CAPTURE


def _is_request_log(path: str) -> bool:
    return begins_as(path) is InputKind.REQUEST_LOG


SEGMENTS = Kind("segment or snapshot", _segments_within, _is_segment)
INDEXES = Kind("index or checkpoint", _indexes_within, lambda path, _: _is_index(path))
CAPTURES = Kind("capture", captures_in, lambda path, _: _is_capture(path))
REQUEST_LOGS = Kind("request log", _request_logs_within, lambda path, _: _is_request_log(path))


# How inputs are read, and what could not be read.


@dataclass(slots=True)
class Faults:
    """The number of gaps and files that could not be read."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The way to read parts.

    This is what may be decompressed, whether secrets are shown, and by which definitions parts are read. `naming` says
    which files are of one capture point. `key_logs` are paths of files with the keys of TLS connections. `faults`
    counts what could not be read.

    All of it goes to the tasks. A catalogue takes along the definitions that were added to it.
    """

    limits: Limits = field(default_factory=Limits)
    show_secrets: bool = False
    catalog: Catalog = field(default_factory=catalog)
    key_logs: tuple[str, ...] = ()
    naming: Naming = field(default_factory=Naming)
    faults: Faults = field(default_factory=Faults)


@dataclass(frozen=True)
class Wanted:
    """The tables that are wanted of inputs, and how to read these."""

    tables: Collection[str]
    reading: Reading
    port: int | None = None
