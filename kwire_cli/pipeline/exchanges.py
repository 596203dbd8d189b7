"""Packet captures and brokers' request logs, a file a task: what is counted of their exchanges, as the one-machine commands count it."""

from __future__ import annotations

import glob
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.clients.fold import Clients
from kwire_cli.errors import InputError
from kwire_cli.pipeline.folding import folded
from kwire_cli.source.frames import capture_in, request_log_in
from kwire_cli.source.kafka.stats import Stats
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange


class How(NamedTuple):
    """What is counted: `make` makes what is counted in, which has `merge`; the others are its methods for lines of captures, and of request logs."""

    make: Callable[[], Any]
    line: Callable[[Any, Captured], None]
    exchange: Callable[[Any, Exchange], None]
    fault: Callable[[Any, str], None] | None = None


STATS = How(Stats, Stats.add, Stats.add_exchange, Stats.add_fault)
CLIENTS = How(Clients, Clients.add_line, Clients.add_exchange)


class FileFault(NamedTuple):
    """Something that could not be read, and what."""

    file: str
    text: str


@dataclass
class Counted:
    """What was counted, and how much was looked at."""

    counts: Any
    files: int = 0
    size: int = 0
    lines: int = 0
    faults: list[FileFault] = field(default_factory=list)


class File(NamedTuple):
    """A capture, or a request log."""

    path: str
    logged: bool


def count(spark: SparkSession, paths: Sequence[str], how: How, port: int | None = None) -> Counted:
    """Count the exchanges in all captures and request logs of files, folders and globs.

    Raises:
        InputError: There is nothing of a name, or neither a capture nor a request log in it.

    """
    total = Counted(how.make())
    for found in folded(spark, files_of(paths), partial(_count, how, port)):
        total.counts.merge(found.counts)
        total.files += found.files
        total.size += found.size
        total.lines += found.lines
        total.faults += found.faults
    return total


def files_of(paths: Iterable[str]) -> list[File]:
    """The captures and request logs that paths and globs name, each once; of a folder those that are any, whatever their names."""
    found: dict[str, File] = {}
    for path in paths:
        some = [each for name in _named(path) if (each := _file(name))]
        if not some:
            raise InputError("is neither a packet capture nor a request log, and holds none", file=path)
        found.update((each.path, each) for each in some)
    return list(found.values())


def _named(path: str) -> Iterator[Path]:
    names = [Path(path)] if Path(path).exists() else [Path(name) for name in sorted(glob.glob(path, recursive=True))]  # noqa: PTH207 - as segments_of
    if not names:
        raise InputError("there is no such file or folder", file=path)
    for name in names:
        yield from sorted(each for each in name.rglob("*") if each.is_file()) if name.is_dir() else [name]


def _file(path: Path) -> File | None:
    try:
        if capture_in(str(path)) is not None:
            return File(str(path), logged=False)
        return File(str(path), logged=True) if request_log_in(str(path)) is not None else None
    except (InputError, OSError):
        return File(str(path), logged=False)  # which its task will say


def _count(how: How, port: int | None, files: Iterable[File]) -> Counted:
    """What one task counts. A file that can't be read, or not to its end, is a fault."""
    own = Counted(how.make())
    for file in files:
        own.files += 1
        try:
            own.size += Path(file.path).stat().st_size
            own.faults += _log(how, own, file) if file.logged else _capture(how, own, file, port)
        except (InputError, OSError) as error:
            own.faults.append(FileFault(file.path, error.reason if isinstance(error, InputError) else str(error)))
    return own


def _log(how: How, own: Counted, file: File) -> Iterator[FileFault]:
    from kwire_cli.source.request_log.exchange import Exchange  # noqa: PLC0415 - only for such logs
    from kwire_cli.source.request_log.reading import RequestLog  # noqa: PLC0415

    for found in RequestLog(file.path, catalog()):
        own.lines += 1
        if isinstance(found, Exchange):
            how.exchange(own.counts, found)
        else:
            if how.fault:
                how.fault(own.counts, found.code)
            yield FileFault(f"{file.path}:{found.line}", f"{found.code}: {found.detail}")


def _capture(how: How, own: Counted, file: File, port: int | None) -> Iterator[FileFault]:
    from kwire_cli.source.capture.reading import Capture  # noqa: PLC0415 - only for captures
    from kwire_cli.source.kafka.traffic import traffic  # noqa: PLC0415

    capture = Capture(file.path)
    again = partial(Capture, file.path)
    for line in traffic(catalog(), capture, port=port, waiting_since=capture.waiting_since, again=again):
        own.lines += 1
        how.line(own.counts, line)
    for notice in capture.notices:
        yield FileFault(file.path, f"after packet {notice.packet}, byte {notice.position}: {notice.text}")
