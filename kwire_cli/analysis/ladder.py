"""Ladders: sequence diagrams of the requests and responses between clients and brokers.

The query in `questions/sequence` returns an arrow for each request and response in the order of time, with the values
of its label. This module names the participants. Frames are chosen while they are read, because --filter is not SQL.
The responses to chosen requests are added to the tables even if they are not chosen, because the ladder shows whether a
request has a response.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import zone_of
from kwire_cli.answer import Answer, Arrow, Chart, Column, Fact, Facts, Note, Participant, Table
from kwire_cli.questions.traffic import Traffic, queries_in, time_text
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.group_names import groups_named, groups_of, transactions_named, transactions_of
from kwire_cli.source.kinds import Kind
from kwire_cli.source.request_log.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kwire_cli.answer import Level
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened

MOST_ARROWS = 200
"""The default for the maximum number of arrows."""
MOST_NAMES = 2
"""Maximum number of names of a kind in a label. Further names are counted."""
LONGEST = 60
"""Maximum length of a name in a label. Names in an input may be of any length."""
COLUMNS = (
    Column("time", "instant"),
    Column("frame", "id"),
    Column("line", "id"),
    Column("capture"),
    Column("from"),
    Column("fromAddress"),
    Column("to"),
    Column("toAddress"),
    Column("kind"),
    Column("api"),
    Column("apiVersion", "id"),
    Column("label"),
    Column("errors", "list"),
    Column("answered", "flag"),
    Column("latencySeconds", "duration"),
)


class _End(NamedTuple):
    """An endpoint of a connection: its owner and its address. `rank` sorts clients before brokers."""

    rank: int
    name: str
    address: str
    capture: str | None


class Ladder(Traffic):
    """A fold over the requests and responses about some groups or transactions, or over all frames.

    `takes` returns whether a line of a capture is chosen. Without it, all lines are chosen. `most` is the maximum
    number of arrows, or None for all.
    """

    def __init__(
        self,
        redaction: Redaction,
        groups: Collection[str] = (),
        transactional_ids: Collection[str] = (),
        *,
        most: int | None = MOST_ARROWS,
        takes: Callable[[Captured], bool] | None = None,
    ) -> None:
        super().__init__(redaction, queries_in("sequence"))
        self._groups = frozenset(groups)
        self._transactional_ids = frozenset(transactional_ids)
        self._most = most
        self._takes_line = takes
        self._chosen: list[int] | None = None if takes is None and not (groups or transactional_ids) else []

    def begin(self, opened: Opened) -> int:
        """Add all frames of a large capture at once if all frames are chosen."""
        if self._chosen is not None and opened.kind is Kind.CAPTURE:
            return 0
        return super().begin(opened)

    def add(self, subject: Any) -> None:
        """Add a line or a connection of a capture, or an exchange or a damaged line of a request log."""
        if self._chosen is None or not isinstance(subject, Captured | Exchange):
            super().add(subject)
            return
        is_chosen = self._chooses(subject)
        request = subject.request if isinstance(subject, Captured) else None
        if is_chosen or isinstance(subject, Exchange) or (isinstance(request, Captured) and self._chooses(request)):
            super().add(subject)
        if is_chosen:
            self._chosen.append(self._open_tables().count(0))

    def _chooses(self, subject: Captured | Exchange) -> bool:
        if isinstance(subject, Captured) and self._takes_line is not None and not self._takes_line(subject):
            return False
        if not self._groups and not self._transactional_ids:
            return True
        return not (
            self._groups.isdisjoint(_groups_of(subject))
            and self._transactional_ids.isdisjoint(_transactions_of(subject))
        )

    def answer(self, nothing: str = "") -> Answer:
        """Return the ladder, and its arrows as a table for programs. Without arrows, return the note `nothing`."""
        with self.filled():
            topics = {row["topic_id"]: row["topic"] for row in self.rows("topics")}
            most = None if self._most is None else max(self._most, 1)
            rows = self.rows("arrows", chosen=self._chosen, most=most)
        total = rows[0]["arrows"] if rows else 0
        shown = rows[: self._most]
        names = _names(list(chain.from_iterable(map(_ends, shown))))
        arrows = [self._arrow(row, names, topics) for row in shown]
        table = [_row(row, arrow) for row, arrow in zip(shown, arrows, strict=True)]
        counts = [Fact("arrows", len(table), "count", wide=True), Fact("allArrows", total, "count", wide=True)]
        if not total:
            last: Chart | Note = Note(nothing or "there is no request or response that was chosen", "info")
        else:
            more = total - len(arrows)
            note = f"… and {more} more; --top {total} shows all" if more else ""
            last = Chart("ladder", _title(arrows), note=note, participants=[*names.values()], arrows=arrows)
        return Answer("sequence", [Facts(counts), Table("arrows", COLUMNS, table, wide=True), last])

    def _arrow(self, row: Mapping[str, Any], names: Mapping[_End, Participant], topics: Mapping[str, str]) -> Arrow:
        time = time_text(row["time"])
        number = row["frame"] if row["line"] is None else row["line"]
        source, target = (names[end].name for end in _ends(row))
        level: Level = "" if row["is_answered"] else "warning"
        if row["errors"]:
            level = "error"
        return Arrow(time, source, target, _label(row, topics), level, number, row["kind"] == "response")


def _groups_of(subject: Captured | Exchange) -> Sequence[str]:
    return groups_of(subject) if isinstance(subject, Captured) else groups_named(subject.api_key, subject.request)


def _transactions_of(subject: Captured | Exchange) -> Sequence[str]:
    if isinstance(subject, Captured):
        return transactions_of(subject)
    return transactions_named(subject.api_key, subject.request)


def _ends(row: Mapping[str, Any]) -> tuple[_End, _End]:
    """Return the source and the target of an arrow."""
    called = row["broker"] if row["node"] is None else f"node {row['node']}"
    client = _End(0, row["client"], row["client_host"], row["capture"])
    broker = _End(1, called, row["broker"], row["capture"])
    return (client, broker) if row["kind"] == "request" else (broker, client)


def _names(ends: Collection[_End]) -> dict[_End, Participant]:
    """Return the participants by endpoint: clients first, each kind in the order of its first arrow.

    Equal names are extended by addresses, or by captures.
    """
    each_once = sorted(dict.fromkeys(ends), key=lambda end: end.rank)
    alike = Counter(end.name for end in each_once)
    places = Counter((end.name, end.address) for end in each_once)
    names: dict[_End, Participant] = {}
    taken: set[str] = set()
    for end in each_once:
        name = end.name
        if alike[name] > 1:
            name = f"{name} ({end.capture})" if places[name, end.address] > 1 else f"{name} {end.address}"
        if name in taken:
            name = f"{name} ({len(taken) + 1})"
        taken.add(name)
        names[end] = Participant(name, "" if end.address in name else end.address)
    return names


def _title(arrows: Sequence[Arrow]) -> str:
    """Return the day of the arrows, or the first and the last day."""
    times = [arrow.time for arrow in arrows if arrow.time]
    days = dict.fromkeys([min(times)[:10], max(times)[:10]]) if times else ()
    return f"{' to '.join(days)}{zone_of(*times)}" if times else ""


def _label(row: Mapping[str, Any], topics: Mapping[str, str]) -> str:
    """Return a label such as `JoinGroup v7 billing` or `JoinGroup v7 -> generation 3, leader of 2`."""
    call = f"{row['api']} v{row['api_version']}"
    if row["kind"] == "response":
        words = [*row["errors"], answer_text(row["words"], row["throttle_ms"])]
        return " -> ".join(filter(None, [call, ", ".join(filter(None, words))]))
    named = [topics.get(topic, topic) for topic in row["topics"]]
    text = request_text(row["groups"], row["transactional_id"], row["words"], named)
    label = " ".join(filter(None, [call, text]))
    return label if row["is_answered"] else f"{label} (no answer)"


def request_text(
    groups: Sequence[str], transactional_id: str | None, words: Sequence[str | None], topics: Sequence[str]
) -> str:
    """Return the subjects of a request: groups, transactional id, the words of its body and topics, each once."""
    texts = [_listed(names) for names in (groups, [transactional_id], words, topics)]
    return ", ".join(dict.fromkeys(filter(None, texts)))


def answer_text(words: Sequence[str | None], throttle_ms: int | None) -> str:
    """Return the contents of a response: the words of its body, and the throttle time."""
    texts = [_listed(words), f"throttled {throttle_ms} ms" if throttle_ms else ""]
    return ", ".join(filter(None, texts))


def _listed(names: Sequence[str | None]) -> str:
    """Return the first names, and the number of further names: `orders, payments, +22`."""
    texts = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names if name]
    more = len(texts) - MOST_NAMES
    return ", ".join([*texts[:MOST_NAMES], *([f"+{more}"] if more > 0 else [])])


def _row(row: Mapping[str, Any], arrow: Arrow) -> tuple[Any, ...]:
    source, target = _ends(row)
    is_logged = row["line"] is not None
    return (
        arrow.time,
        None if is_logged else row["frame"],
        row["line"],
        row["capture"],
        arrow.source,
        source.address,
        arrow.target,
        target.address,
        row["kind"],
        row["api"],
        row["api_version"],
        arrow.label,
        row["errors"],
        row["is_answered"],
        row["latency_s"],
    )
