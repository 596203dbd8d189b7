"""Subjects of questions: lines of captures, exchanges of request logs, TCP connections, and batches of logs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.questions.traffic import Traffic
from kwire_cli.records.batch import PADDING
from kwire_cli.records.gaps import Gap
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.reading import Read, nothing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.answer import Answer
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.batch import Batch
    from kwire_cli.source.reading import Opened


TRAFFIC = frozenset({Kind.CAPTURE, Kind.REQUEST_LOG})
"""Inputs that contain requests and responses."""
LOGS = frozenset({Kind.BATCHES, Kind.FOLDER})
"""Inputs that contain the logs of partitions."""
LAKES = frozenset({Kind.LAKE})
"""Inputs that contain tables of traffic."""


class LogItem(NamedTuple):
    """A batch of a log, or a gap, with its topic and partition."""

    topic: str | None
    partition: int | None
    file: str
    item: Batch | Gap

    @property
    def name(self) -> str:
        """The name of the partition's folder, such as `orders-0`, or of the file if the folder has another name."""
        return self.file if self.topic is None or self.partition is None else f"{self.topic}-{self.partition}"

    @property
    def is_unread(self) -> bool:
        """Whether the bytes are neither a batch nor padding."""
        return isinstance(self.item, Gap) and self.item.code != PADDING

    @property
    def log(self) -> tuple[str, str]:
        """The log: its folder and the partition. Copies of a partition on several brokers are different logs."""
        return _folder_of(self.file), self.name


@lru_cache(maxsize=1 << 10)
def _folder_of(file: str) -> str:
    return str(PurePath(file).parent)


def subjects_of(opened: Opened, redaction: Redaction | None = None) -> Iterator[Any]:
    """Yield the subjects of an input. The subjects of a log are its batches and gaps, with the partition.

    With `redaction`, the JSON of batches redacts secrets.
    """
    if not isinstance(opened, LogInput):
        yield from opened.subjects()
        return
    try:
        for file in opened.files():
            if file.has_batches:
                source = file.source(opened.how)
                if redaction is not None:
                    source = replace(source, hide=redaction.record)
                for item in file.items(source, opened.caller):
                    yield LogItem(file.topic, file.partition, file.label, item)
    finally:
        opened.caller.done()


BOTH = "captures and request logs may show the same requests: ask about each in a run of its own"
"""The error for inputs of both kinds."""


def add_all(
    inputs: Iterable[Opened],
    fold: Any,
    *,
    connections: bool = False,
    begun: Callable[[Opened], None] | None = None,
) -> int:
    """Add all subjects of inputs to a fold, and return their number, which is at least one.

    TCP connections count only with `connections`, for questions about connections. `begun` is called with each input
    before it is read. A fold in tables adds a large capture at once.

    Raises:
        InputError: An input cannot be read, or all inputs are empty (for a fold that `needs_batches`, have no batch).
            Captures and request logs are combined: both may contain the same requests, which would count twice.

    """
    count = 0
    read: Read = []
    kinds: set[Kind] = set()
    for opened in inputs:
        if begun:
            begun(opened)
        kinds.add(opened.kind)
        if kinds >= TRAFFIC:
            raise InputError(BOTH)
        added = fold.begin(opened) if isinstance(fold, Traffic) else 0
        unread = 0
        if not added:
            for subject in subjects_of(opened):
                added += connections or not isinstance(subject, TcpConnection)
                unread += isinstance(subject, LogItem) and subject.is_unread
                fold.add(subject)
        if unread == added and isinstance(fold, Traffic) and fold.needs_batches:
            added = 0
        count += added
        if not added:
            read.append((opened.label, "no batch that kwire can read" if unread else opened.emptiness))
        if isinstance(fold, Traffic):
            fold.end_input(opened)
    if not count:
        raise nothing_in(read, "request of Kafka and no batch")
    return count


def ask_inputs(
    inputs: Iterable[Opened], fold: Any, arguments: Mapping[str, Any], *, connections: bool = False
) -> Answer:
    """Add all subjects of inputs to a fold, and return its complete answer. It raises the errors of `add_all`.

    `arguments` are those of the method `answer` of the fold.
    """
    add_all(inputs, fold, connections=connections)
    answer: Answer = fold.answer(**arguments)
    return answer.read()
