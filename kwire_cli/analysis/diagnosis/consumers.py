"""The rule about consumers: lag, fetches and commits, which share one walk of Fetch calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.diagnosis.commits import Commits
from kwire_cli.analysis.diagnosis.empty_fetches import EmptyFetches
from kwire_cli.analysis.diagnosis.fetches import Fetches, client_of, committed
from kwire_cli.analysis.diagnosis.lag import Lag
from kwire_cli.analysis.diagnosis.model import Rule
from kwire_cli.analysis.diagnosis.out_of_range import OutOfRange
from kwire_cli.analysis.diagnosis.sessions import FetchSessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Finding
    from kwire_cli.source.kafka.traffic import TcpConnection

COMMITS = frozenset({"OffsetCommit", "OffsetFetch", "TxnOffsetCommit"})
MEMBERS = frozenset({"JoinGroup", "ConsumerGroupHeartbeat"})
"""Apis that say which group a client is in, as commits do."""


class Consumers(Rule):
    """Consumers: what they ask for, what they get, and what they commit."""

    KINDS = (*Lag.KINDS, *EmptyFetches.KINDS, *OutOfRange.KINDS, *FetchSessions.KINDS, *Commits.KINDS)
    apis: ClassVar[frozenset[str]] = COMMITS | MEMBERS | {"Fetch", "ListOffsets"}

    def __init__(self) -> None:
        self._fetches = Fetches()
        self._lag, self._empty = Lag(), EmptyFetches()
        self._out_of_range, self._sessions, self._commits = OutOfRange(), FetchSessions(), Commits()

    def call(self, call: Call) -> None:
        """Take a Fetch, a ListOffsets, or a call of a group."""
        api = call.api
        if api == "Fetch":
            fetch = self._fetches.take(call)
            if fetch is not None:
                self._lag.fetch(fetch)
                self._empty.fetch(fetch)
                self._out_of_range.fetch(fetch)
                self._sessions.fetch(fetch)
        elif api == "ListOffsets":
            self._out_of_range.other(call)
        else:
            client = client_of(call)
            if api != "OffsetFetch":
                self._lag.member(client, call)
            if api in COMMITS:
                commits = committed(call)
                self._lag.commit(client, call, commits)
                if api == "OffsetCommit":
                    self._commits.commit(client, call, commits)

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: its fetch session is over."""
        self._fetches.end((connection.capture, connection.stream))

    def merge(self, other: Consumers) -> None:
        self._lag.merge(other._lag)
        self._empty.merge(other._empty)
        self._out_of_range.merge(other._out_of_range)
        self._sessions.merge(other._sessions)
        self._commits.merge(other._commits)

    def findings(self) -> Iterator[Finding]:
        for question in (self._lag, self._empty, self._out_of_range, self._sessions, self._commits):
            yield from question.findings()
