"""Subjects of questions about behaviour, as folds get them: batches of logs, and calls made of what goes by."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from kwire_cli.errors import InputError
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.reading import Read, nothing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.analysis.fold import Counter
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault

    Subject: TypeAlias = "Captured | TcpConnection | Exchange | LineFault | LogItem"


TRAFFIC = frozenset({Kind.CAPTURE, Kind.REQUEST_LOG})
"""Inputs that show requests and responses."""
LOGS = frozenset({Kind.BATCHES, Kind.FOLDER})
"""Inputs that show the logs of partitions."""


class LogItem(NamedTuple):
    """A batch of a log directory, or the bytes between two, with its topic and partition."""

    topic: str | None
    partition: int | None
    file: str
    item: Batch | Gap

    @property
    def name(self) -> str:
        """The partition's folder, such as `orders-0`; the file if no folder names it."""
        return self.file if self.topic is None or self.partition is None else f"{self.topic}-{self.partition}"

    @property
    def log(self) -> tuple[str, str]:
        """The log: its folder and the partition. Copies on several brokers are logs of their own."""
        return _folder_of(self.file), self.name


@lru_cache(maxsize=1 << 10)
def _folder_of(file: str) -> str:
    return str(PurePath(file).parent)


class Bounded(list[Any]):
    """A list of events that keeps the first `most` and counts the others in `dropped`."""

    most = 1 << 16

    def __init__(self, events: Sequence[Any] = ()) -> None:
        super().__init__(events)
        self.dropped = 0

    @property
    def total(self) -> int:
        """The number of events, those that were dropped too."""
        return len(self) + self.dropped

    def append(self, event: Any, /) -> None:
        """Keep an event, unless there are too many."""
        if len(self) < self.most:
            super().append(event)
        else:
            self.dropped += 1


def subjects_of(opened: Opened) -> Iterator[Any]:
    """Yield the subjects of an input: of a log each batch and gap with its partition."""
    if not isinstance(opened, LogInput):
        yield from opened.subjects()
        return
    try:
        for file in opened.files():
            if file.has_batches:
                for item in file.items(file.source(opened.how), opened.caller):
                    yield LogItem(file.topic, file.partition, file.label, item)
    finally:
        opened.caller.done()


@runtime_checkable
class FillsTables(Protocol):
    """A fold that fills tables, and can take all of a large capture at once."""

    def begin(self, opened: Opened, /) -> int:
        """Take all of a large capture, and return how many subjects it has; 0 if `add` has to take them."""


def add_all(
    inputs: Iterable[Opened],
    fold: Counter[Any],
    *,
    connections: bool = False,
    begun: Callable[[Opened], None] | None = None,
    ended: Callable[[Opened], None] | None = None,
) -> int:
    """Add all subjects of inputs to a fold, and return how many there were: at least one.

    TCP connections count if the question is about them (`connections`).
    `begun` is told of each input before it is read, and `ended` when all of it was.

    Raises:
        InputError: An input cannot be read, nothing was in any input, or captures and request logs are asked together:
            both may show the same requests, which would count twice.

    """
    count = 0
    read: Read = []
    kinds: set[Kind] = set()
    for opened in inputs:
        if begun:
            begun(opened)
        kinds.add(opened.kind)
        if kinds >= TRAFFIC:
            raise InputError("captures and request logs may show the same requests: ask about each in a run of its own")
        added = fold.begin(opened) if isinstance(fold, FillsTables) else 0
        if not added:
            for subject in subjects_of(opened):
                added += connections or not isinstance(subject, TcpConnection)
                fold.add(subject)
        count += added
        if not added:
            read.append((opened.label, opened.emptiness))
        if ended:
            ended(opened)
    if not count:
        raise nothing_in(read, "request of Kafka and no batch")
    return count
