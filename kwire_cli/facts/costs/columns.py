"""The tables of costs: bytes, batches and largest sizes, summed by owner.

`COSTS` declares the table `costs`. A lake has its rows by capture point, api, kind and version, with the columns that
have `in_lakes`. In memory, rows are grouped by the owner columns that a query or `kwire overhead` uses; the other owner
columns are null. All numbers can be summed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.facts.costs.subjects import client_of, is_frame, kind_of, topics_of
from kwire_cli.message.decoded import Decoded
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.packets.model import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.facts.costs.subjects import Message


class Column(NamedTuple):
    """A column of `costs`. `of` computes the value for a message, if the column identifies the owner of bytes."""

    name: str
    type: str
    of: Callable[[Message], Any] | None = None
    in_lakes: bool = False


def _api(subject: Message) -> str | None:
    return None if isinstance(subject, Decoded) or not is_frame(subject) else subject.api


def _api_key(subject: Message) -> int | None:
    return None if isinstance(subject, Decoded) or not is_frame(subject) else subject.api_key


def _version(subject: Message) -> int | None:
    return None if isinstance(subject, Decoded) or not is_frame(subject) else subject.api_version


def _topic(subject: Message) -> str | None:
    topics = topics_of(subject)
    return (topics[0] if len(topics) == 1 else SHARED) if topics else None


def _broker(subject: Message) -> str | None:
    if not isinstance(subject, Captured) or not subject.is_frame:
        return None
    return subject.dst if subject.kind == "request" else subject.src


def _stream(subject: Message) -> str | None:
    """Return the number of a connection, after its capture point if there are several."""
    if not isinstance(subject, Captured):
        return None
    capture = subject.origin.capture
    return str(subject.stream) if capture is None else f"{capture} {subject.stream}"


SHARED = "(shared)"
"""In place of a topic: the bytes of a message about several topics that belong to none of them."""
OWNERS = (
    Column("capture_point", "VARCHAR", lambda s: (s.origin if isinstance(s, Captured) else ALONE).point, in_lakes=True),
    Column("api", "VARCHAR", _api, in_lakes=True),
    Column("kind", "VARCHAR", kind_of, in_lakes=True),
    Column("api_version", "INTEGER", _version, in_lakes=True),
    Column("api_key", "INTEGER", _api_key),
    Column("client_id", "VARCHAR", lambda subject: client_of(subject) if is_frame(subject) else None),
    Column("topic", "VARCHAR", _topic),
    Column("partition", "INTEGER", lambda _: None),
    Column("broker_address", "VARCHAR", _broker),
    Column("stream", "VARCHAR", _stream),
    Column("file", "VARCHAR", lambda _: None),
)
"""Whom bytes belong to. Topics and partitions of messages about several, and files, are known to who counts them."""
COSTS = (
    *OWNERS,
    Column("path", "VARCHAR", in_lakes=True),
    Column("prefix_kind", "VARCHAR"),
    Column("value_kind", "VARCHAR"),
    Column("prefix_bytes", "BIGINT", in_lakes=True),
    Column("value_bytes", "BIGINT", in_lakes=True),
    Column("count", "BIGINT", in_lakes=True),
    Column("messages", "BIGINT"),
)
"""The columns of `costs`. Rows without a path count messages."""
OF_OWNERS = {column.name: column.of for column in OWNERS if column.of}
OF_LAYOUT = frozenset({"api", "api_key", "kind", "api_version"})
"""Columns that are the same for all frames of a layout."""
_COSTS = tuple((column.name, column.type) for column in COSTS)
TABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "costs": _COSTS,
    "unpacked_costs": _COSTS,
    "batch_sizes": (
        *((column.name, column.type) for column in OWNERS),
        ("codec", "VARCHAR"),
        ("records_bits", "INTEGER"),
        ("batches", "BIGINT"),
        ("records", "BIGINT"),
        ("bytes", "BIGINT"),
        ("overhead_bytes", "BIGINT"),
        ("packed_bytes", "BIGINT"),
        ("unpacked_bytes", "BIGINT"),
        ("unread", "BIGINT"),
        ("gaps", "BIGINT"),
    ),
    "largest": (
        ("limit_key", "VARCHAR"),
        ("size", "BIGINT"),
        ("asked", "BIGINT"),
        ("file", "VARCHAR"),
        ("packet", "BIGINT"),
        ("frame", "BIGINT"),
        ("topic", "VARCHAR"),
        ("partition", "INTEGER"),
        ("position", "BIGINT"),
    ),
}
"""The tables in memory.

`unpacked_costs` are the bytes of decompressed records, which are not on the wire. A row of `batch_sizes` has the
batches of one codec whose numbers of records have the same number of bits; a row without codec has the counts
that do not depend on a codec. `largest` has the largest size for each limit.
"""


def key_of(names: Sequence[str]) -> Callable[[Message], tuple[Any, ...]]:
    """Return a function that computes a message's values of these columns of OWNERS."""
    if not names:
        return lambda _: ()
    getters = [OF_OWNERS[name] for name in names]
    if len(getters) == 1:
        get = getters[0]
        return lambda subject: (get(subject),)
    return lambda subject: tuple([get(subject) for get in getters])


# The dimensions of `kwire overhead --by`.


class Dimension(NamedTuple):
    """A dimension for grouping bytes: the owner columns that it needs, and its value in SQL for a row `c`."""

    columns: tuple[str, ...]
    value: str


WITHIN = ("field", "kind")
"""The dimensions within a message."""
_STREAM = "case when c.stream like '% %' then c.stream::label else c.stream::bigint::label end"
_NAME = "coalesce(c.api, 'api key ' || c.api_key)"
OUTSIDE: Mapping[str, Dimension] = {
    "api": Dimension(("api", "api_key"), _NAME),
    "message": Dimension(("api", "api_key", "kind"), f"{_NAME} || upper(c.kind[1]) || c.kind[2:]"),
    "version": Dimension(("api", "api_key", "api_version"), f"{_NAME} || ' ' || c.api_version"),
    "client": Dimension(("client_id",), "c.client_id"),
    "topic": Dimension(("topic",), "c.topic"),
    "partition": Dimension(("partition",), "c.partition::bigint"),
    "broker": Dimension(("broker_address",), "c.broker_address"),
    "capture": Dimension(("capture_point",), "c.capture_point"),
    "stream": Dimension(("stream",), _STREAM),
    "file": Dimension(("file",), "c.file"),
}
"""The dimensions that are the same for a whole message, or for a topic or partition in it."""
DIMENSIONS = (*OUTSIDE, *WITHIN)
MACROS = (
    "create type label as union(number bigint, text varchar)",
    "create macro labels_of(names, c, path, kind) as list_transform(names::varchar[], lambda name: case name "
    + " ".join(f"when '{name}' then ({dimension.value})::label" for name, dimension in OUTSIDE.items())
    + " when 'field' then path::label when 'kind' then kind::label end)",
    "create macro share_of(part, whole) as coalesce(round_even(part / nullif(whole, 0), 6), 0)",
    "create macro mean_of(total, number) as round_even(total / nullif(number, 0), 3)",
)
"""A label is a number or a string, and is ordered as such. `labels_of` returns the labels of a row by dimension."""


def owners_of(dimensions: Sequence[str]) -> list[str]:
    """Return the owner columns that some dimensions need."""
    needed: set[str] = set()
    for name in dimensions:
        if name in OUTSIDE:
            needed.update(OUTSIDE[name].columns)
    return [column.name for column in OWNERS if column.name in needed]
