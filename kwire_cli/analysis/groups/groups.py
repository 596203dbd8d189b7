"""The question about groups: members that join and leave, the reasons, rebalances, and assignments.

The replay fills tables, and the queries in `questions/groups` select rows of them. This module defines the columns of
the answer. The lines of the outline are rows of a query too, and `questions/groups/lines.toml` contains their texts.
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.groups.replay import REPLAYED
from kwire_cli.answer import Answer, Column, Item, Note, Outline, Table
from kwire_cli.questions.sentence import sentence
from kwire_cli.questions.traffic import queries_in, rows_of, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from kwire_cli.answer import Block, Level
    from kwire_cli.message.redaction import Redaction

    Rows = Sequence[Mapping[str, Any]]

MOST_EVENTS = 30
"""Maximum number of events of a group that are displayed, unless the group is chosen by name."""
SHOWN_AWAY = 0.1
"""Minimum time without partitions that is displayed, in seconds. The round trips of any rebalance take less."""
GROUPS = (
    Column("group"),
    Column("protocol", keep=2),
    Column("protocolType", wide=True),
    Column("assignor", keep=5),
    Column("coordinator", keep=9),
    Column("members", "count", keep=1),
    Column("membersNow", "count", wide=True),
    Column("rebalances", "count"),
    Column("generationFirst", "id", title="generation", keep=4),
    Column("generationLast", "id", title="to", keep=4),
    Column("rebalanceSeconds", "duration", title="rebalancing", keep=6, sparse=True),
    Column("longestSeconds", "duration", title="longest", keep=3, sparse=True),
    Column("stoppedSeconds", "duration", title="nobody consumed", keep=7, sparse=True),
    Column("causes", "map", keep=8),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
)
PLACE = (
    Column("frame", "id"),
    Column("stream", "id"),
    Column("capture"),
    Column("file"),
    Column("line", "id"),
    Column("offset", "id"),
)
EVENTS = (
    Column("time", "instant"),
    Column("group"),
    Column("generation", "id"),
    Column("event"),
    Column("member"),
    Column("client"),
    Column("reason"),
    Column("detail"),
    Column("seconds", "duration"),
    Column("partitions", "count"),
    *PLACE,
)
MEMBERS = (
    Column("group", keep=1),
    Column("client", title="client id"),
    Column("member", keep=9),
    Column("host", keep=8),
    Column("instance", keep=3),
    Column("joined", "instant", keep=7),
    Column("ended", "instant", keep=6),
    Column("partitions", "count"),
    Column("withoutSeconds", "duration", title="without any", unit="s", keep=2),
    Column("end", keep=4),
    Column("rebalanceTimeoutSeconds", "duration", wide=True),
    Column("sessionTimeoutSeconds", "duration", wide=True),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
)
ASSIGNMENTS = (
    Column("time", "instant"),
    Column("group"),
    Column("generation", "id"),
    Column("member"),
    Column("client"),
    Column("count", "count"),
    Column("partitions", "list"),
    Column("gained", "list"),
    Column("lost", "list"),
    *PLACE,
)
_LEVELS: dict[str, Level] = {
    "fenced": "error",
    "error": "error",
    "removed": "warning",
    "redelivery": "warning",
}


class Groups(TableFold):
    """The groups in captures, request logs and the logs of coordinators."""

    needs_batches = True

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, queries_in("groups"), (REPLAYED,))

    def names(self) -> list[str]:
        """Return the names of the groups. Nothing can be added afterwards."""
        self.finish()
        return [row["group_id"] for row in self.rows("names")]

    def answer(self, names: Collection[str] = ()) -> Answer:
        """Return the groups of these names, by default all, with their events, members and assignments.

        Nothing can be added afterwards.
        """
        self.finish()
        parameters = {**PARAMETERS, "names": list(names), "limit": None if names else MOST_EVENTS}
        blocks = group_blocks(partial(self.rows, **parameters))
        return Answer("groups", [*blocks, *self.dropped_notes()])


PARAMETERS: Mapping[str, Any] = {"names": [], "limit": MOST_EVENTS, "least_shown_s": SHOWN_AWAY}
"""The parameters of the queries in `questions/groups`, for all groups."""


def group_blocks(rows: Callable[[str], Rows]) -> list[Block]:
    """Return the tables of groups, and an outline with their events.

    `rows` returns the rows of a query in `questions/groups`.
    """

    def table(name: str, columns: Sequence[Column], of: Rows, **shown: Any) -> Table:
        return Table(name, columns, rows_of(columns, of), **shown)

    groups = rows("groups")
    by_group = {name: list(lines) for name, lines in groupby(rows("lines"), itemgetter("group_id"))}
    blocks: list[Block] = [table("groups", GROUPS, groups, wide=len(groups) == 1)]
    for group in groups:
        items = list(_items(by_group.get(group["group"], [])))
        blocks.append(Outline("", items, sentence(_texts()["title"], group)))
    blocks += [
        table("events", EVENTS, rows("events"), wide=True),
        table("members", MEMBERS, rows("members"), title="members", shown=25),
        table("assignments", ASSIGNMENTS, rows("assignments"), wide=True),
    ]
    if not groups:
        blocks.append(Note("no group in this", "info"))
    return blocks


@cache
def _texts() -> Mapping[str, Any]:
    return tomllib.loads((files("kwire_cli.questions") / "groups" / "lines.toml").read_text("utf-8"))


def _items(lines: Rows) -> Iterator[Item]:
    """Yield a line for each event: its time, the generation, and what happened."""
    width = max((len(line["generation"]) for line in lines), default=0)
    for line in lines:
        clock = (time_text(line["time"]) or "")[11:23]
        clock += "  " if clock else ""
        text = sentence(_texts()["events"][line["in_case"]], line)
        yield Item(1, f"{clock}{line['generation']:<{width}}  {text}", level=_LEVELS.get(line["kind"], ""))
    if lines and lines[0]["events"] > len(lines):
        yield Item(1, sentence(_texts()["more"], {**lines[0], "more": lines[0]["events"] - len(lines)}))
