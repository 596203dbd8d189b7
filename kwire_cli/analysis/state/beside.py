"""The ends of the other partitions in the log directories of Kafka's own topics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.analysis.state.ends import Ends, ends_of
from kwire_cli.errors import InputError
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition
from kwire_cli.source.logs.model import Kind, folder_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.stores import Place

    Named = tuple[str, int]
    """A topic and the number of its partition."""


def read_ends(files: Iterable[LogFile]) -> tuple[dict[Named, Ends], list[str]]:
    """Return the ends of the partitions in the log directories of files, and why some cannot be read.

    Of several replicas, the log that goes furthest counts. Folders that cannot be listed count as empty.
    """
    found: dict[Named, Ends] = {}
    notes = []
    for directory in _directories(files):
        try:
            children = [*directory.iterdir()]
        except (OSError, InputError):
            continue
        starts = _checkpoint(directory / Kind.LOG_START_OFFSETS)
        high_watermarks = _checkpoint(directory / Kind.REPLICATION_OFFSETS)
        for child in sorted(children, key=lambda place: place.name):
            name = folder_name(child.name)
            if not name or name.state or not child.is_dir():
                continue
            named = name.topic, name.partition
            try:
                ends = ends_of(partition(child), start=starts.get(named), high_watermark=high_watermarks.get(named))
            except InputError as error:
                notes.append(f"{child.name}: {error.reason}")
            else:
                if ends:
                    found[named] = _furthest(ends, found.get(named, ends))
    return found, notes


def _directories(files: Iterable[LogFile]) -> dict[Place, None]:
    directories: dict[Place, None] = {}
    for file in files:
        if file.path is None:
            continue
        folder = file.path.parent
        if folder_name(folder.name) is None:
            folder = folder.resolve()  # "." has the name of the folder, too
        if folder_name(folder.name):
            directories[folder.parent] = None
    return directories


def _furthest(one: Ends, other: Ends) -> Ends:
    known = [ends.high_watermark for ends in (one, other) if ends.high_watermark is not None]
    return replace(max(other, one, key=lambda ends: ends.end), high_watermark=max(known, default=None))


def _checkpoint(file: Place) -> Mapping[Named, int]:
    try:
        if not file.is_file():
            return {}
        return {(entry.topic, entry.partition): entry.offset for entry in read_log_file(file).entries}
    except (OSError, InputError):
        return {}
