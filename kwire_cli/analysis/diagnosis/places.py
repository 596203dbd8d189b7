"""Names and places of what findings are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import Evidence, instant, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.analysis.calls import Call
    from kwire_cli.source.kafka.traffic import TcpConnection


def host_of(address: str) -> str:
    """Return an address without its port."""
    return address.rpartition(":")[0] or address


def client_of(call: Call) -> str:
    """Return the id of the client, or its host: what stays the same over its connections."""
    return call.client_id or host_of(call.client)


def place_of(connection: TcpConnection, what: str = "connection") -> Evidence:
    """Return a TCP connection as evidence."""
    time = instant(seconds(connection.first))
    return Evidence(what, time, stream=connection.stream, capture=connection.capture, file=connection.file)


def in_time(places: Iterable[Evidence | None]) -> list[Evidence]:
    """Return places in the order of their times: parts that were merged came in any order."""
    there = [place for place in places if place is not None]
    return sorted(there, key=lambda place: (place.time or "", place.frame or place.line or 0, place.stream or 0))


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: `1 connection`, `2 connections`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def size_text(size: int) -> str:
    """Return a size for people: `512 bytes`, `3.4 kB`, `120 MB`."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return counted(size, "byte")
