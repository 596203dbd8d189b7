"""The columns of a frame that a filter can name, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice, TypeAlias

Type: TypeAlias = Choice["number", "duration", "size", "time", "text", "end", "name", "api", "error"]
"""How values compare. number: ints; duration: seconds; size: bytes; time: ns since 1970; text: strings with case; end: `host:port`;
name: strings without case; api: an api key, or the name of one; error: names of error codes, or the numbers of codes without a name."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its values are of one type; `many` means a list of them, never null, and otherwise one value or None."""

    name: str
    type: Type
    meaning: str
    aliases: tuple[str, ...] = ()
    many: bool = False


COLUMNS: tuple[Column, ...] = (
    Column("frame", "number", "the frame's number, from 1 by arrival of its last byte"),
    Column("time", "time", "when its last byte arrived"),
    Column("src", "end", "the end that sent it, `address:port`; `==` also takes the address alone"),
    Column("dst", "end", "the end that it was sent to, as `src`"),
    Column("host", "text", "the addresses of both ends", many=True),
    Column("port", "number", "the ports of both ends", many=True),
    Column("stream", "number", "the connection's number, from 0 by first packet"),
    Column("packet", "number", "the number of the packet with its last byte, in its file"),
    Column("capture", "text", "its capture point, where there are several inputs (docs/captures.md)"),
    Column("file", "text", "the file that has its last byte"),
    Column("kind", "name", "`request`, `response`, `sasl-token`, `not-kafka` or `gap`"),
    Column("size", "size", "bytes, with the size prefix"),
    Column("apiKey", "api", "the api key, compared by name or number"),
    Column("api", "api", "the api, compared by name or number; null where the key is unknown"),
    Column("apiVersion", "number", "the api's version", aliases=("version",)),
    Column("correlationId", "number", "the correlation id"),
    Column("clientId", "text", "the client id", aliases=("client",)),
    Column("software", "text", "the client's software and its version, as its ApiVersions request on this connection says"),
    Column("broker", "number", "the node id of the broker's end, if a Metadata response named its address"),
    Column("topics", "text", "the topics that it is about, ids resolved to names", aliases=("topic",), many=True),
    Column("latency", "duration", "from request to response; null where that is unknown"),
    Column("throttle", "duration", "for how long a response asks its client to wait; null where it says nothing of it"),
    Column("inFlight", "number", "requests of the connection that wait for their responses when this request is sent, itself among them"),
    Column("error", "error", "the names of all error codes in it other than 0, compared by name or number", many=True),
    Column("requestFrame", "number", "the number of the request that this response answers"),
    Column("protocol", "name", "what is spoken where it is not Kafka: `tls`, `http`, …"),
    Column("content", "text", "what the bytes of TLS are, where they could be read: `ClientHello`, `alert close_notify`, …", many=True),
    Column("reason", "text", "why bytes of TLS were not decrypted"),
    Column("anomaly", "name", "the codes of its anomalies (docs/anomalies.md)", many=True),
)
"""In the order of the documentation."""

BY_NAME: dict[str, Column] = {name: column for column in COLUMNS for name in (column.name, *column.aliases)}
"""Columns by name and alias."""
OF_BATCHES = frozenset({"size", "kind", "time", "anomaly"})
"""The columns of batches and gaps; their other names are fields."""
