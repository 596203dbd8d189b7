"""The table `connections`: one row for each TCP connection of a capture.

The values come from `TcpConnection`, the summary of a connection that the reader of a capture keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.facts.frame_values import microseconds_of

if TYPE_CHECKING:
    from kwire_cli.source.kafka.traffic import TcpConnection

CONNECTIONS = (
    ("connection", "BIGINT"),
    ("ordinal", "BIGINT"),
    ("capture_point", "VARCHAR"),
    ("file", "VARCHAR"),
    ("packet", "BIGINT"),
    ("stream", "BIGINT"),
    ("client_address", "VARCHAR"),
    ("broker_address", "VARCHAR"),
    ("broker", "INTEGER"),
    ("opened", "BOOLEAN"),
    ("outcome", "VARCHAR"),
    ("syns", "INTEGER"),
    ("is_unused", "BOOLEAN"),
    ("client_heard", "BOOLEAN"),
    ("broker_heard", "BOOLEAN"),
    ("first_time", "TIMESTAMPTZ"),
    ("closed_time", "TIMESTAMPTZ"),
    ("closed_by", "VARCHAR"),
    ("reset", "BOOLEAN"),
    ("reason", "VARCHAR"),
    ("client_bytes", "BIGINT"),
    ("broker_bytes", "BIGINT"),
    ("client_lost_bytes", "BIGINT"),
    ("broker_lost_bytes", "BIGINT"),
    ("client_cut_bytes", "BIGINT"),
    ("broker_cut_bytes", "BIGINT"),
    ("client_again_segments", "BIGINT"),
    ("broker_again_segments", "BIGINT"),
    ("client_again_bytes", "BIGINT"),
    ("broker_again_bytes", "BIGINT"),
    ("client_shut_us", "BIGINT"),
    ("broker_shut_us", "BIGINT"),
)
"""Names and types.

`outcome` is accepted, refused or silent; `closed_by` is client or broker. Bytes are payload bytes, null if the start of
the connection is not in the capture. *_again_segments are retransmitted segments, *_lost_bytes are missing in the
capture, *_cut_bytes were cut off packets, and *_shut_us is the time with a receive window of 0.
"""


def connection_row(key: int, at: int, connection: TcpConnection) -> list[Any]:
    """Return a TCP connection as a row of CONNECTIONS."""
    life = connection.life
    counts: list[Any] = []
    for name in ("size", "lost", "cut", "repeated", "again"):
        counts += [getattr(side, name) for side in life.sides]
    return [
        key,
        at,
        connection.capture,
        connection.file,
        connection.packet,
        connection.stream,
        connection.client,
        connection.broker,
        connection.node,
        connection.opened,
        connection.outcome,
        life.syns,
        connection.is_unused,
        *(side.heard for side in life.sides),
        microseconds_of(life.first),
        microseconds_of(life.closed),
        connection.closed_by,
        life.reset,
        connection.reason,
        *counts,
        *(side.shut // 1000 for side in life.sides),
    ]
