"""Columns of a capture's lines: what tables, filters and --fields name. One function a column; everything else is a field path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.source.kafka.captured import Captured


def _host(end: str) -> str:
    return end.rpartition(":")[0].strip("[]")


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


COLUMNS: dict[str, Callable[[Captured], Any]] = {
    "frame": lambda line: line.number,
    "time": lambda line: line.time,
    "src": lambda line: line.src,
    "dst": lambda line: line.dst,
    "host": lambda line: [_host(line.src), _host(line.dst)],
    "port": lambda line: [_port(line.src), _port(line.dst)],
    "stream": lambda line: line.stream,
    "packet": lambda line: line.seen.packet,
    "kind": lambda line: line.kind,
    "size": lambda line: line.seen.size,
    "apiKey": lambda line: line.api_key,
    "api": lambda line: line.api,
    "apiVersion": lambda line: line.api_version,
    "correlationId": lambda line: line.correlation_id,
    "clientId": lambda line: line.client_id,
    "software": lambda line: line.software,
    "broker": lambda line: line.broker,
    "topics": lambda line: line.topics,
    "latency": lambda line: line.latency,
    "throttle": lambda line: None if line.throttle is None else line.throttle / 1000,
    "inFlight": lambda line: line.seen.in_flight,
    "error": lambda line: line.errors,
    "requestFrame": lambda line: line.request.number if line.request else None,
    "protocol": lambda line: line.seen.protocol,
    "content": lambda line: [*line.seen.content],
    "reason": lambda line: line.seen.reason,
    "anomaly": lambda line: line.anomalies,
}
ALIASES = {"version": "apiVersion", "client": "clientId", "topic": "topics"}


def line_fields(line: Captured, hidden: dict[str, frozenset[int]] | None = None) -> dict[str, Any]:
    """The header and body of a line in JSON form, without the `hidden` spans of each; empty where it has none."""
    hidden = hidden or {}
    parts = dict(line.frame.parts) if line.frame else {}
    return {name: parts[name].to_json(hidden=hidden.get(name, frozenset())) if name in parts else {} for name in ("header", "body")}


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line as filters and --fields see it: columns, and fields made only when they are asked for, without what `hide` says is secret."""

    line: Captured
    hide: Callable[[Captured], dict[str, frozenset[int]]] | None = None

    def column(self, name: str) -> Any:
        """The value of a column, a list of them, or None."""
        return COLUMNS[ALIASES.get(name, name)](self.line)

    def fields(self) -> dict[str, Any]:
        """Header and body in JSON form."""
        return line_fields(self.line, self.hide(self.line) if self.hide else None)

    def value(self, name: str) -> Any:
        """A column's value, or those of all fields whose path ends in `name`: one alone, several as a list, None for none."""
        if ALIASES.get(name, name) in COLUMNS:
            return self.column(name)
        found = list(_values(self.fields(), tuple(name.removeprefix(".").split(".")), ()))
        return found[0] if len(found) == 1 else found or None


class FilterRow(LineRow):
    """A line as filters compare it: times in nanoseconds since 1970, all else as it is shown."""

    __slots__ = ()

    def column(self, name: str) -> Any:
        """The value of a column, a list of them, or None."""
        return self.line.seen.time if name == "time" else super().column(name)


def _values(value: Any, wanted: tuple[str, ...], path: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, wanted, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, wanted, path)
    elif path[-len(wanted) :] == wanted:
        yield value
