"""The kinds of input files, and the options for reading them.

A kind finds its files in a folder, and recognises a single file by its name and its first bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.records.codecs import Limits
from kwire_cli.source.files import Naming, named
from kwire_cli.source.kinds import Kind as InputKind
from kwire_cli.source.logs.files import logs_in
from kwire_cli.source.logs.model import BATCH_KINDS, OFFSET_CHECKPOINTS, Kind as LogKind, file_name
from kwire_cli.source.packets.files import NAME, captures_in
from kwire_cli.source.recognition import begins_as
from kwire_cli.spec.catalog import Catalog, catalog
from kwire_cli.stores.opening import tree
from kwire_cli.stores.paths import absolute, in_parallel, is_text, location, path_of, refuse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kwire_cli.stores.opening import Tree


# The kinds of inputs: segments, indexes, captures and request logs. A table reads the files of its kind only.

INDEX_KINDS = OFFSET_CHECKPOINTS | {
    LogKind.INDEX,
    LogKind.TIME_INDEX,
    LogKind.TRANSACTION_INDEX,
    LogKind.PRODUCER_SNAPSHOT,
    LogKind.LEADER_EPOCHS,
}
"""Files of a log directory that have entries and no batches."""


class Kind(NamedTuple):
    """A kind of files.

    `what` is its name in errors. `within` returns its files in a folder. `is_one` returns whether a path is a file of
    this kind; its second argument is true if the user typed the path, and false if a glob matched it.
    """

    what: str
    within: Callable[[Tree], Iterable[str]]
    is_one: Callable[[str, bool], bool]


class Found(NamedTuple):
    """A file of a kind, with its absolute path, as tasks may run in another folder."""

    kind: Kind
    file: str


def found(paths: Sequence[str], *kinds: Kind) -> list[Found]:
    """Return the files of these kinds that paths and globs match, without duplicates, in the order of the paths.

    In a folder, the files of the first kind come first. A file in a folder whose path is not UTF-8 gets its escaped
    path. No file exists at that path, so it becomes a fault like other unreadable files.

    Raises:
        InputError: A path matches nothing, no match is of any of these kinds, or a path is not UTF-8.

    """
    files: dict[tuple[Kind, str], Found] = {}
    for path in paths:
        for matched in named(path):
            name = absolute(matched)
            itself = path_of(matched) == path_of(path)
            folder = tree(path_of(name)) if path_of(name).is_dir() else None
            for kind in kinds:
                some: Iterable[str] = ()
                if folder:
                    some = kind.within(folder)
                elif kind.is_one(name, itself):
                    some = (name,)
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


def _is_segment(path: str, itself: bool) -> bool:  # noqa: FBT001 - a `Kind.is_one`
    """Return whether a file is a segment or snapshot.

    A file whose path the user typed is a segment if it is of no other kind, independent of its name.
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
    """Return whether a file begins like a capture, or has the name of a capture."""
    return bool(NAME.search(path_of(path).name)) or begins_as(path) is InputKind.CAPTURE


def _is_request_log(path: str) -> bool:
    return begins_as(path) is InputKind.REQUEST_LOG


SEGMENTS = Kind("segment or snapshot", _segments_within, _is_segment)
INDEXES = Kind("index or checkpoint", _indexes_within, lambda path, _: _is_index(path))
CAPTURES = Kind("capture", captures_in, lambda path, _: _is_capture(path))
REQUEST_LOGS = Kind("request log", _request_logs_within, lambda path, _: _is_request_log(path))


# Options for reading, and counts of faults.


@dataclass(slots=True)
class Faults:
    """The number of gaps and files that could not be read."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The options for reading parts, which every task receives.

    They are limits of decompression, whether secrets are shown, and the definitions of messages, including added ones.
    `naming` maps files to capture points. `key_logs` are paths of files with the keys of TLS connections. `faults`
    counts the gaps and unreadable files.
    """

    limits: Limits = field(default_factory=Limits)
    show_secrets: bool = False
    catalog: Catalog = field(default_factory=catalog)
    key_logs: tuple[str, ...] = ()
    naming: Naming = field(default_factory=Naming)
    faults: Faults = field(default_factory=Faults)


@dataclass(frozen=True)
class Wanted:
    """The tables to write, and how to read the inputs."""

    tables: Collection[str]
    reading: Reading
    port: int | None = None
