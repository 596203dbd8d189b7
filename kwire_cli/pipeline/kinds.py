"""Which inputs are segments, indexes, captures or request logs: a table is made of files of its kind, and leaves the others to other tables."""

from __future__ import annotations

from itertools import compress, count
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.capture.named import NAME, captures_of
from kwire_cli.source.kinds import Kind as InputKind, begins_as
from kwire_cli.source.logs.names import BATCH_KINDS, OFFSET_CHECKPOINTS, Kind as LogKind, file_name
from kwire_cli.source.logs.segments import files_in, segments_of
from kwire_cli.source.naming import named
from kwire_cli.stores import absolute, in_parallel, path_of
from kwire_cli.stores.folders import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

INDEX_KINDS = OFFSET_CHECKPOINTS | {
    LogKind.INDEX,
    LogKind.TIME_INDEX,
    LogKind.TRANSACTION_INDEX,
    LogKind.PRODUCER_SNAPSHOT,
    LogKind.LEADER_EPOCHS,
}
"""Files of a log directory that have entries and no batches."""


class Kind(NamedTuple):
    """Files of a kind: `what` errors call one, those in a folder, and whether a file that is named is one, `itself` or by a glob."""

    what: str
    within: Callable[[str], Iterable[str]]
    is_one: Callable[[str, bool], bool]


def by_kind(paths: Sequence[str], *kinds: Kind) -> list[list[str]]:
    """Return for each of these kinds the files that paths and globs name, each once, by absolute paths: tasks run elsewhere.

    Raises:
        InputError: As `numbered`.

    """
    return [[*files] for files in numbered(paths, *kinds)]


def numbered(paths: Sequence[str], *kinds: Kind) -> list[dict[str, int]]:
    """Return what `by_kind` does, each file with a number: files of all kinds in the order in which they were given.

    In a folder the files of the first kind come first.

    Raises:
        InputError: There is nothing of a name, or no file of any of these kinds in all of them.

    """
    found: list[dict[str, int]] = [{} for _ in kinds]
    numbers = count()
    for path in paths:
        for given in named(path):
            name, itself = absolute(given), path_of(given) == path_of(path)
            for kind, files in zip(kinds, found, strict=True):
                some = kind.within(name) if path_of(name).is_dir() else [name] if kind.is_one(name, itself) else []
                for file in some:
                    files.setdefault(file, next(numbers))
    if not any(found):
        raise InputError(f"there is no {' and no '.join(kind.what for kind in kinds)} in this", file=", ".join(paths))
    return found


def _segments_within(folder: str) -> Iterator[str]:
    try:
        some = segments_of([folder])
    except InputError:  # there are none
        return
    paths = [segment.path for segment in some]
    yield from _those(paths, lambda path: file_name(path_of(path).name).base_offset is not None or not _is_request_log(path))


def _indexes_within(folder: str) -> Iterator[str]:
    return (str(file.path) for file in files_in(path_of(folder), INDEX_KINDS))


def _captures_within(folder: str) -> list[str]:
    try:
        return captures_of([folder])
    except InputError:  # there are none
        return []


def _request_logs_within(folder: str) -> Iterator[str]:
    files = (path for path in tree(path_of(folder)).files() if path.is_file() and file_name(path.name).base_offset is None)
    return _those(map(str, files), _is_request_log)


def _those(paths: Iterable[str], are: Callable[[str], bool]) -> Iterator[str]:
    """Of these paths those that are something."""
    given = [*paths]
    return compress(given, in_parallel(are, given))


def _is_segment(path: str, itself: bool) -> bool:  # noqa: FBT001 - as `Kind` has it
    """What is named itself and nothing else is taken for what it is said to be, whatever its name."""
    name = file_name(path_of(path).name)
    if name.kind in BATCH_KINDS and name.base_offset is not None:
        return True
    return (name.kind in BATCH_KINDS or (itself and name.kind is LogKind.OTHER)) and not _is_request_log(path) and not _is_capture(path)


def _is_index(path: str) -> bool:
    return file_name(path_of(path).name).kind in INDEX_KINDS


def _is_capture(path: str) -> bool:
    """What begins as one, or is named as one although it does not."""
    return bool(NAME.search(path_of(path).name)) or begins_as(path) is InputKind.CAPTURE


def _is_request_log(path: str) -> bool:
    return begins_as(path) is InputKind.REQUEST_LOG


SEGMENTS = Kind("segment or snapshot", _segments_within, _is_segment)
INDEXES = Kind("index or checkpoint", _indexes_within, lambda path, _: _is_index(path))
CAPTURES = Kind("capture", _captures_within, lambda path, _: _is_capture(path))
REQUEST_LOGS = Kind("request log", _request_logs_within, lambda path, _: _is_request_log(path))
