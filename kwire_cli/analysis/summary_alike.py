"""Lines that are alike, counted together: of most of them a summary needs numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.clients import BATCHES_SINCE, speaker
from kwire_cli.analysis.dimensions import OF_LINES
from kwire_cli.analysis.stats import Group, bucket_of
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE

if TYPE_CHECKING:
    from kwire_cli.analysis.clients import Clients
    from kwire_cli.analysis.stats import Stats
    from kwire_cli.message.known_layout import Layout, Plain
    from kwire_cli.source.kafka.captured import Captured

MOST_KINDS = 1 << 12
"""Kinds of lines that are counted before they are added to statistics and clients."""


_NO_ERRORS: list[str | int] = []


class _Kind:
    """Requests or responses of a connection, of one version and with the same header, and what they count as."""

    __slots__ = (
        "_address", "_connection", "_names", "first", "group", "groups", "last", "software", "speaker",
        "tail",
    )  # fmt: skip

    def __init__(self, line: Captured, plain: Plain, stats: Stats) -> None:
        layout = plain.layout
        self.tail, self.software = plain.tail, line.software
        self.group = Group(software={self.software} if self.software else set())
        self.groups = [(of, name) for of in stats.groups for name in OF_LINES[of](line)]
        self._connection, self._names = line.connection, line.names
        self._address = line.dst if layout.kind == "request" else line.src
        self.speaker = speaker(line) if layout.kind == "request" else None
        self.first = self.last = line.seen.time

    def add_request(self, line: Captured) -> None:
        """Count a request."""
        seen = line.seen
        self.last = seen.time
        self.group.add_request(seen.size, seen.in_flight or 0)

    def add_response(self, line: Captured, plain: Plain, errors: list[str | int]) -> None:
        """Count a response."""
        latency = line.latency
        timed = None if latency is None else (latency, bucket_of(latency), line.delayed)
        self.group.add_response(line.seen.size, timed, errors, plain.top("throttleTimeMs") or 0)

    @property
    def node(self) -> int | None:
        """The node id of the broker, if any Metadata named its address so far."""
        return None if self._connection.client is None else self._names.node(self._address)


class Alike:
    """Counts plain lines by kind, for statistics and clients: `settle` adds the counts to these.

    All other lines, and old message sets, are given to these one by one.
    """

    def __init__(self, stats: Stats, clients: Clients) -> None:
        self._stats, self._clients = stats, clients
        self._kinds: dict[tuple[str | None, int, Layout], _Kind] = {}

    def add(self, line: Captured) -> None:
        """Count a line of a capture."""
        plain = line.plain
        layout = plain.layout if plain else None
        if plain is None or layout is None or (layout.api_key == PRODUCE and layout.version < BATCHES_SINCE):
            self._stats.add(line)
            kind = line.kind
            if kind == "request" or (kind == "response" and (line.errors or line.api_key == API_VERSIONS)):
                self._clients.add(line)  # other responses tell nothing of a client that its request did not
            return
        if layout.has_records:
            self._stats.anomalies.update(anomaly_codes(line, deep=False))
        key = line.origin.capture, line.stream, layout
        alike = self._kinds.get(key)
        if alike is None or alike.tail is not plain.tail or alike.software is not line.software:
            if alike is not None:
                self._settle(layout, alike)
            elif len(self._kinds) >= MOST_KINDS:
                self.settle()
            alike = self._kinds[key] = _Kind(line, plain, self._stats)
        if layout.kind == "request":
            alike.add_request(line)
        else:
            errors = plain.read().errors
            alike.add_response(line, plain, line.errors if errors else _NO_ERRORS)
            if errors:
                self._clients.add(line)

    def settle(self) -> None:
        """Add what was counted to statistics and clients."""
        for (_, _, layout), alike in self._kinds.items():
            self._settle(layout, alike)
        self._kinds.clear()

    def _settle(self, layout: Layout, alike: _Kind) -> None:
        group = alike.group
        self._stats.add_group(layout.kind, group, alike.groups, alike.node)
        if alike.speaker is not None:
            times = time_text(alike.first), time_text(alike.last)
            self._clients.add_requests(alike.speaker, layout.api, group.requests, *times)
