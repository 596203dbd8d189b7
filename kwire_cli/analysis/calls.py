"""Calls, which are requests with their responses, from the tables of captures and of request logs.

A replay processes calls in the order of time, because the meaning of a call depends on earlier calls: rebalances of
groups, transactions. `calls_query` builds the query for the calls of some apis. It reads bodies as JSON, because each
api has other fields. A field is null if the version of the message lacks it, or if its value does not fit the type of
the field. Request logs may contain such values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from kwire_cli.analysis.call import Call, Evidence
from kwire_cli.analysis.rows import cells, columns_of
from kwire_cli.answer import Note
from kwire_cli.errors import counted
from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.queries import needed_by
from kwire_cli.questions.traffic import Traffic, time_text
from kwire_cli.source.log_inputs import LogItem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from kwire_cli.analysis.rows import Row
    from kwire_cli.facts.memory import Tables
    from kwire_cli.message.redaction import Redaction


ANSWERED = "coalesce(c.response_time, c.request_time) nulls first, c.place.ordinal"
"""The order in which calls are completed."""
ASKED = "c.request_time nulls first, c.request_place.ordinal"
"""The order of requests."""


def calls_query(apis: Collection[str], where: str = "true", order: str = ANSWERED) -> str:
    """Return the query for the calls of some apis. `c` is the row of the view `calls` in the condition."""
    batches = "null"
    if "Produce" in apis:
        batches = """(
            select to_json(list(struct_pack(topic, partition, records, size, producer_id, producer_epoch)))
            from batches b where b.connection = c.connection and b.frame = c.frame and b.crc_valid
        )"""
    names = ", ".join(f"'{api}'" for api in sorted(apis))
    return f"""
        -- One row for each call.
        with requests as ({_bodies(apis, "request")}), responses as ({_bodies(apis, "response")})
        select
            c.api, c.api_version, c.connection, c.broker_address, c.broker, c.errors,
            coalesce(nullif(c.client_id, ''), c.client_address, 'unknown') as who,
            coalesce(c.client_host, '') as host,
            epoch_us(c.request_time) / 1e6 as asked,
            epoch_us(c.response_time) / 1e6 as answered,
            q.body as request,
            a.body as response,
            c.is_answered,
            c.request_place,
            c.response_place,
            {batches} as batches
        from calls c
        left join requests q on q.connection = c.connection and q.frame = c.frame
        left join responses a on a.connection = c.connection and a.frame = c.response_frame
        where c.api in ({names}) and ({where})
        order by {order}
    """  # noqa: S608 - our own names


def _bodies(apis: Collection[str], kind: str) -> str:
    return " union all ".join(
        f"select connection, frame, to_json(body) as body from {table_of(api, kind)}"  # noqa: S608 - our own names
        for api in sorted(apis)
    )


def calls_in(tables: Tables, query: str) -> Iterator[Call]:
    """Yield the calls of a query from `calls_query`."""
    topics = tables.rows("select topic_id, topic from topic_names")
    names: dict[str, str] = {row["topic_id"]: row["topic"] for row in topics}

    def topic_of(topic_id: str) -> str:
        return names.get(topic_id, topic_id)

    for row in tables.each(query):
        response = row["response"]
        yield Call(
            row["api"],
            row["api_version"],
            row["who"],
            row["host"],
            row["broker_address"],
            row["broker"],
            row["connection"],
            row["asked"],
            row["answered"],
            orjson.loads(row["request"] or b"{}"),
            orjson.loads(response or b"{}") if row["is_answered"] else None,
            row["errors"],
            evidence_of(row["request_place"]),
            evidence_of(row["response_place"]) if row["response_place"] else None,
            topic_of,
            orjson.loads(row["batches"] or b"[]"),
        )


class Replay(Protocol):
    """The interface of replays, which process traffic in the order of time and batches of logs, and fill tables."""

    @property
    def dropped(self) -> int:
        """The number of events beyond the limit of the replay."""

    def read(self, tables: Tables, /) -> None:
        """Process the traffic in tables."""

    def log_item(self, item: LogItem, /) -> None:
        """Take a batch of a log, or a gap."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows for tables, after all calls and batches."""


@dataclass(frozen=True, slots=True)
class ReplayedTables:
    """Tables that a replay fills: their rows, the query for traffic, and the function that creates the replay."""

    rows: Mapping[str, type[Row]]
    query: str
    begin: Callable[[], Replay]


class TableFold(Traffic):
    """A fold over traffic and batches of logs, for queries over tables of traffic and tables of replays.

    A replay in `replayed` runs only if a query reads its tables. A subclass may process items of logs in addition.
    """

    def __init__(
        self, redaction: Redaction, queries: Mapping[str, str], replayed: Sequence[ReplayedTables] = ()
    ) -> None:
        needed = frozenset().union(*map(needed_by, queries.values()))
        running = [tables for tables in replayed if needed & tables.rows.keys()]
        self._replays = [(tables, tables.begin()) for tables in running]
        self._is_replayed = False
        super().__init__(redaction, {**queries, **{f"replay {at}": each.query for at, each in enumerate(running)}})

    def add(self, subject: Any) -> None:
        """Add a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        if isinstance(subject, LogItem):
            self.log_item(subject)
        else:
            super().add(subject)

    def log_item(self, item: LogItem, /) -> None:
        """Add a batch of a log directory, or a gap."""
        for _, replay in self._replays:
            replay.log_item(item)

    def dropped_notes(self) -> Iterator[Note]:
        """Yield a warning if replays dropped events."""
        if dropped := sum(replay.dropped for _, replay in self._replays):
            yield Note(
                f"{counted(dropped, 'event was', 'events were')} dropped, because there were too many", "warning"
            )

    def finish(self) -> None:
        """Complete the tables, including the tables of replays. Queries can run afterwards."""
        super().finish()
        if self._is_replayed or not self._replays:
            return
        self._is_replayed = True
        tables = self._open_tables()
        for replayed, replay in self._replays:
            targets = {row: (name, columns_of(row)) for name, row in replayed.rows.items()}
            for name, columns in targets.values():
                tables.create(name, [(column.name, column.kind.type) for column in columns])
            replay.read(tables)
            for row in replay.rows():
                name, columns = targets[type(row)]
                tables.put(name, cells(row, columns))
        tables.flush()


def evidence_of(place: Mapping[str, Any]) -> Evidence:
    """Return a place of a row as evidence. The clock of a request log may have no known zone."""
    line = place["line"]
    frame = place["frame"] if line is None else None
    return Evidence(
        place["what"],
        time_text(place["time"]),
        frame,
        place["stream"],
        place["capture"],
        place["file"] or None,
        line,
        place.get("position"),
        place["packet"],
    )
