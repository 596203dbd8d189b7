"""Subjects of questions: lines of captures, exchanges of request logs, TCP connections, and batches of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.questions.traffic import Traffic
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.source.reading import Read, nothing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire_cli.answer import Answer
    from kwire_cli.source.reading import Opened


TRAFFIC = frozenset({Kind.CAPTURE, Kind.REQUEST_LOG})
"""Inputs that contain requests and responses."""
LOGS = frozenset({Kind.BATCHES, Kind.FOLDER})
"""Inputs that contain the logs of partitions."""
LAKES = frozenset({Kind.LAKE})
"""Inputs that contain tables of traffic."""


def add_kind(kinds: set[Kind], opened: Opened) -> None:
    """Add the kind of an input. Raise InputError for captures and request logs together: requests would count twice."""
    kinds.add(opened.kind)
    if kinds >= TRAFFIC:
        raise InputError("captures and request logs may show the same requests: ask about each in a run of its own")


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
        add_kind(kinds, opened)
        added = fold.begin(opened) if isinstance(fold, Traffic) else 0
        unread = 0
        if not added:
            for subject in opened.subjects():
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
