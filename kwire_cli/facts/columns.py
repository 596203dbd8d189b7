"""The columns of frames: an entry has the name, the type, the unit, the meaning and how to get the value.

A column is read from a line of a capture and from half an exchange of a request log. Lakes and tables in memory take
their schemas from here, and so do --filter, --fields, csv, the tables of `kwire decode`, completion, docs/tables.md and
docs/filter.md. To add a column, append an entry to FRAMES (lakes and everything else), IN_MEMORY (not lakes) or
FOR_FILTERS (no tables in SQL). Large captures are read by column: a column without a function in
`columnar.frames.MANY_AT_A_TIME` is read line by line there.

The types are in `DUCKDB_TYPES`; a `word` is text with few different values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.facts.frame_values import (
    GROUP,
    TRANSACTIONAL_ID,
    allowed_ms,
    connection_of_half,
    digest,
    ends,
    fits_as,
    host_of,
    is_misread,
    is_read,
    latency_us,
    logged_error_codes,
    logged_latency_us,
    logged_names,
    logged_throttle_ms,
    logged_time,
    microseconds_by_stage,
    microseconds_of,
    named_in_line,
    wait_ms,
    within,
)
from kwire_cli.facts.mended import client_if_mended
from kwire_cli.source.kafka.group_names import groups_named, groups_of
from kwire_cli.source.kafka.line_records import anomaly_codes, line_record_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.facts.frame_values import Half
    from kwire_cli.source.kafka.captured import Captured

DUCKDB_TYPES = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "texts": "VARCHAR[]",
    "int32": "INTEGER",
    "int32s": "INTEGER[]",
    "int64": "BIGINT",
    "flag": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "amounts": "MAP(VARCHAR, BIGINT)",
}


VARIES = object()
"""In place of a value that depends on the frame."""


class Column(NamedTuple):
    """A column of frames: how to get its value from a line of a capture, and from half an exchange.

    `null` describes, for docs/tables.md, the frames without a value; it is empty if all frames have one.
    """

    name: str
    type: str
    meaning: str
    of_line: Callable[[Captured], Any]
    of_half: Callable[[Half], Any] = lambda _: None
    null: str = ""
    unit: str = ""
    """The unit of a number that measures something: `us`, `ms`, `B`, or the noun that is counted."""
    form: str = ""
    """How filters compare the value, if the type is not enough: as an `end` (an address), a `name` (text without case),
    an `api` or an `error`."""
    also: tuple[str, ...] = ()
    """Other names that --filter, --fields and --sort accept."""
    values: tuple[str, ...] = ()
    """All values, if these are fixed names."""
    regular: Any = VARIES
    """The value in all regular frames, if it is constant: requests and responses of a capture without anomalies."""

    @property
    def is_list(self) -> bool:
        """Return whether the value is a list. A list is never null."""
        return self.type in {"texts", "int32s"}

    @property
    def is_number(self) -> bool:
        """Return whether the value is a number."""
        return self.type in {"int32", "int64"}


FRAMES: tuple[Column, ...] = (
    Column("file", "word", "the file or log with the last byte", lambda line: line.where.file, lambda half: half.file),
    Column(
        "packet",
        "int64",
        "the packet with the last byte, counted in its file from 1",
        lambda line: line.where.packet,
        null="request logs",
    ),
    Column(
        "time",
        "time",
        "when the last byte arrived, in microseconds, UTC; in a request log, when the broker had the request or was "
        "done",
        lambda line: microseconds_of(line.seen.time),
        logged_time,
        null="no clock",
    ),
    Column(
        "src",
        "word",
        "the address of the sender, `host:port`; in a filter, `==` also takes a host without a port",
        lambda line: line.src,
        lambda half: half.exchange.broker if half.is_response else half.exchange.client,
        form="end",
    ),
    Column(
        "dst",
        "word",
        "the address of the receiver, as `src`",
        lambda line: line.dst,
        lambda half: half.exchange.client if half.is_response else half.exchange.broker,
        form="end",
    ),
    Column(
        "connection",
        "int64",
        "the key of the connection: a digest of its two ends and the client's initial sequence number, or of the first "
        "packet if the capture lacks the opening; the same at every capture point",
        lambda line: line.connection.key or None,
        connection_of_half,
    ),
    Column(
        "frame",
        "int64",
        "the number of the frame, from 1 by arrival of the last byte; in a lake, growing among the frames of its "
        "`connection`; in a request log, the place of the line in the file",
        lambda line: line.number,
        lambda half: half.exchange.start,
    ),
    Column(
        "request_frame",
        "int64",
        "the `frame` of the request of a response",
        lambda line: line.request.number if line.request else None,
        lambda half: half.exchange.start if half.is_response else None,
        null="no request seen",
        also=("requestFrame",),
    ),
    Column(
        "kind",
        "word",
        "`request`, `response`, `sasl-token`, `not-kafka` or `gap`",
        lambda line: line.kind,
        lambda half: half.kind,
        form="name",
        values=("request", "response", "sasl-token", "not-kafka", "gap"),
    ),
    Column(
        "size",
        "int64",
        "all bytes, with the 4 bytes of the size prefix",
        lambda line: line.seen.size,
        null="request logs",
        unit="B",
    ),
    Column(
        "api_key",
        "int32",
        "the key of the api; filters compare it by name or number",
        lambda line: line.api_key,
        lambda half: half.exchange.api_key,
        null="unknown",
        form="api",
        also=("apiKey",),
    ),
    Column(
        "api",
        "word",
        "the name of the api, such as `Fetch`; filters compare it by name or number",
        lambda line: line.api,
        lambda half: half.exchange.api,
        null="unknown",
        form="api",
    ),
    Column(
        "api_version",
        "int32",
        "the version of the api",
        lambda line: line.api_version,
        lambda half: half.exchange.api_version,
        null="unknown",
        also=("apiVersion", "version"),
    ),
    Column(
        "correlation_id",
        "int32",
        "the correlation id in the header",
        lambda line: line.correlation_id,
        lambda half: within(half.exchange.correlation_id, "int32"),
        null="no header",
        also=("correlationId",),
    ),
    Column(
        "client_id",
        "word",
        "the client id of the request; a response has the client id of its request",
        lambda line: line.client_id,
        lambda half: half.exchange.client_id,
        null="none",
        also=("clientId", "client"),
    ),
    Column(
        "software",
        "word",
        "the name and version of the client's software, from the ApiVersions request on the connection; null before "
        "this request",
        lambda line: line.software if line.is_frame else None,
        lambda half: half.exchange.software,
        null="unknown",
    ),
    Column(
        "broker",
        "int32",
        "the node id of the broker, if Metadata responses name its address for one node; the address of a proxy has "
        "several",
        lambda line: line.broker,
        null="unknown, or several",
    ),
    Column(
        "topics",
        "texts",
        "the topics that the frame is about, with the topics of its fetch session: names, or ids without a known name",
        lambda line: line.topics,
        lambda half: half.exchange.topics,
        also=("topic",),
    ),
    Column(
        "groups",
        "texts",
        "the groups that the frame itself names (`groupId`)",
        lambda line: named_in_line(line, GROUP),
        lambda half: logged_names(half, GROUP),
    ),
    Column(
        "transactional_id",
        "text",
        "the first transactional id in the frame",
        lambda line: next(iter(named_in_line(line, TRANSACTIONAL_ID)), None),
        lambda half: next(iter(logged_names(half, TRANSACTIONAL_ID)), None),
        null="none",
    ),
    Column(
        "latency_us",
        "int64",
        "the microseconds from the request to the response, rounded; negative if the response has the earlier time",
        latency_us,
        logged_latency_us,
        null="no request, no time",
        unit="us",
        also=("latency",),
    ),
    Column(
        "delayed",
        "flag",
        "whether the broker may have held the response back on purpose: its api waits (Fetch, ShareFetch, JoinGroup, "
        "SyncGroup, FetchSnapshot), or the request was sent before the response to such a request of the connection, "
        "since a broker handles one request of a connection at a time",
        lambda line: line.seen.delayed if line.request else None,
        lambda half: half.exchange.delayed if half.is_response else None,
        null="no request",
    ),
    Column(
        "wait_ms",
        "int32",
        "the milliseconds that the request lets the broker wait for data (`maxWaitMs`); the response has them too",
        wait_ms,
        null="no such field",
        unit="ms",
    ),
    Column(
        "throttle_ms",
        "int64",
        "the milliseconds for which the response asks the client to wait (`throttleTimeMs`)",
        lambda line: line.throttle,
        logged_throttle_ms,
        null="no such field",
        unit="ms",
        also=("throttle",),
    ),
    Column(
        "error_codes",
        "int32s",
        "the error codes of the response that are not 0, each once; filters compare them by name or number",
        lambda line: line.error_codes,
        logged_error_codes,
        form="error",
    ),
    Column(
        "errors",
        "texts",
        "the names of these error codes; filters compare them by name or number",
        lambda line: [str(error) for error in line.errors],
        lambda half: [str(error) for error in half.exchange.errors] if half.is_response else [],
        form="error",
        also=("error",),
    ),
    Column(
        "protocol",
        "word",
        "the protocol of bytes that are not Kafka's: `tls`, `http`, …",
        lambda line: line.seen.protocol,
        null="Kafka",
        form="name",
        regular=None,
    ),
    Column(
        "anomalies",
        "texts",
        "the codes of anomalies in the frame's own fields ([anomalies](model.md#anomalies-and-gaps)); anomalies of "
        "its batches are in `faults`",
        lambda line: line.anomalies,
        lambda _: [],
        form="name",
        regular=(),
    ),
    Column(
        "line",
        "int64",
        "the line of a request log",
        lambda _: None,
        lambda half: half.exchange.line,
        null="captures",
        regular=None,
    ),
    Column(
        "source",
        "word",
        "`capture` or `request-log`",
        lambda line: line.source,
        lambda _: "request-log",
        regular="capture",
    ),
    Column(
        "guess",
        "flag",
        "whether the layout was guessed from the bytes",
        lambda line: line.guess,
        lambda _: False,
        regular=False,
    ),
    Column(
        "missing_bytes",
        "int64",
        "the bytes of the frame that are not captured",
        lambda line: line.seen.missing,
        null="request logs",
        unit="B",
        regular=0,
    ),
    Column(
        "gap",
        "word",
        "why bytes are a gap: `LOST` or `NOT_RECOGNISED`; in a filter, `.gap` is the field of batches",
        lambda line: line.seen.code,
        null="no gap",
        form="name",
        regular=None,
    ),
    Column(
        "is_misread",
        "flag",
        "whether the body does not fit its version",
        is_misread,
        lambda _: False,
        regular=False,
    ),
    Column(
        "fits_as",
        "text",
        "the layouts that the bytes fit, if they do not fit the version in their label",
        fits_as,
        null="the body fits",
        regular=None,
    ),
    Column(
        "reason",
        "text",
        "why TLS could not be decrypted",
        lambda line: line.seen.reason,
        null="no TLS, or decrypted",
        regular=None,
    ),
    Column(
        "content",
        "texts",
        "the content of TLS records, if it is known: `ClientHello`, `alert close_notify`, …",
        lambda line: [*line.seen.content],
        lambda _: [],
        regular=(),
    ),
    Column(
        "batch_anomalies",
        "texts",
        "the codes of anomalies of the batches in the frame",
        lambda line: [note.code for note in line_record_notes(line, deep=False)] if line.is_frame else [],
        lambda _: [],
        form="name",
    ),
    Column(
        "mended_client",
        "word",
        "the client, if the frame is malformed and would be well-formed with 0a in place of each 0d 0a",
        client_if_mended,
        null="all other frames",
        regular=None,
    ),
    Column(
        "allowed_ms",
        "int64",
        "how long the request lets the broker take: the longest of its timeouts and waits",
        allowed_ms,
        null="responses, request logs",
        unit="ms",
    ),
    Column(
        "expects_answer",
        "flag",
        "whether a request has a response: a Produce request with acks=0 has no response",
        lambda line: line.wants_response if line.seen.kind == "request" else None,
        lambda half: half.exchange.response is not None if not half.is_response else None,
        null="responses",
    ),
    Column(
        "is_read",
        "flag",
        "whether all of the body could be read",
        is_read,
        lambda _: True,
        regular=True,
    ),
    Column(
        "in_flight",
        "int64",
        "the requests of the connection that wait for their responses when this request is sent, with this one",
        lambda line: line.seen.in_flight,
        null="responses, request logs",
        unit="requests",
        also=("inFlight",),
    ),
    Column(
        "request_groups",
        "texts",
        "the groups that a request names in any field; a response has the groups of its request",
        groups_of,
        lambda half: groups_named(half.exchange.api_key, half.exchange.request),
        also=("group",),
    ),
    Column(
        "stages_us",
        "amounts",
        "the microseconds that an exchange took in each stage of the broker",
        lambda _: None,
        lambda half: None if half.is_response else microseconds_by_stage(half.exchange),
        null="captures",
        regular=None,
    ),
    Column(
        "principal",
        "word",
        "the principal that the broker saw in the client",
        lambda _: None,
        lambda half: half.exchange.principal,
        null="captures",
        regular=None,
    ),
    Column(
        "forwarded",
        "flag",
        "whether another broker passed the request on",
        lambda _: False,
        lambda half: half.exchange.forwarded,
        regular=False,
    ),
    Column(
        "digest",
        "int64",
        "a checksum of the bytes of a request, by which one exchange is found at two capture points",
        digest,
        null="responses, requests that may hold secrets, request logs",
    ),
)
"""The columns of `frames` in lakes and in memory."""

IN_MEMORY: tuple[Column, ...] = (
    Column(
        "stream",
        "int64",
        "the number of the TCP connection in its capture, from 0",
        lambda line: line.stream,
        null="request logs",
    ),
    Column(
        "capture_point",
        "word",
        "the [capture point](captures.md#capture-points), if there are several",
        lambda line: line.origin.capture,
        also=("capture",),
    ),
)
"""Columns of `frames` that only tables in memory have. In lakes, all tables name the capture point."""

FOR_FILTERS: tuple[Column, ...] = (
    Column("host", "texts", "the hosts of both ends", lambda line: [host_of(end) for end in ends(line)]),
    Column(
        "port",
        "int32s",
        "the ports of both ends",
        lambda line: [int(end.rpartition(":")[2]) for end in ends(line)],
    ),
    Column(
        "all_anomalies",
        "texts",
        "the codes of anomalies of the frame, of the batches in it and of their records",
        lambda line: anomaly_codes(line, deep=True),
        form="name",
        also=("anomaly",),
    ),
)
"""Columns that --filter and --fields have, and tables do not: they take longer, or follow from others."""

COLUMNS: tuple[Column, ...] = tuple(column for column in (*FRAMES, *IN_MEMORY, *FOR_FILTERS) if column.name != "digest")
"""The columns of --filter and --fields: all but the digest, which means nothing to a person."""
BY_NAME: dict[str, Column] = {}
for _column in COLUMNS:
    BY_NAME.update(dict.fromkeys((_column.name, *_column.also), _column))
"""The columns by all their names."""
IN_CSV = (
    "frame",
    "time",
    "src",
    "dst",
    "kind",
    "api",
    "api_version",
    "correlation_id",
    "client_id",
    "topics",
    "size",
    "latency_us",
    "errors",
)
"""The columns of csv without --fields."""

OF_BODIES = frozenset(
    {
        "topics",
        "groups",
        "request_groups",
        "transactional_id",
        "wait_ms",
        "throttle_ms",
        "error_codes",
        "errors",
        "allowed_ms",
    }
)
"""The columns of `frames` that come from fields of bodies."""


def values_of_line(line: Captured, columns: Iterable[Column]) -> Iterator[Any]:
    """Yield the values of columns for a line of a capture. Values from a body that does not fit are left out."""
    misread = is_misread(line)
    for column in columns:
        if misread and column.name in OF_BODIES:
            yield [] if column.is_list else None
        else:
            yield column.of_line(line)
