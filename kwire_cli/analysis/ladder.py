"""Ladders: who sends what to whom, call by call, as sequence diagrams."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import instant, seconds, zone_of
from kwire_cli.analysis.call_labels import groups_of, request_label, response_label, transactions_of
from kwire_cli.analysis.pairs import Pairs, call_of_exchange, call_of_lines
from kwire_cli.answer import Answer, Arrow, Chart, Column, Fact, Facts, Note, Participant, Table
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.analysis.fold import Traffic
    from kwire_cli.answer import Block, Level
    from kwire_cli.source.kafka.captured import Captured

MOST_ARROWS = 200
"""Arrows of a ladder by default: what a person can follow."""
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


_Order = tuple[float, str, tuple[int, int, int], bool]
"""The time, the file, the place in it, and whether it is a response: what orders events."""


class _End(NamedTuple):
    """An end of a call: whose it is, and its address. `sort` has clients before brokers."""

    sort: int
    name: str
    address: str
    capture: str


class _Event(NamedTuple):
    """A request or a response: what orders it, and what its arrow says."""

    order: _Order
    source: _End
    target: _End
    label: str
    level: Level
    place: Evidence
    api: str
    version: int
    errors: tuple[str, ...]
    is_answered: bool
    latency: float | None

    @property
    def is_reply(self) -> bool:
        """Return whether it is a response."""
        return self.order[-1]


class Ladder:
    """The first arrows of calls in the order of time; later ones are counted only."""

    def __init__(self, limit: int | None = MOST_ARROWS) -> None:
        self.limit = limit
        self.count = 0
        """All arrows, also those that are not kept."""
        self._events: list[_Event] = []
        self._last: _Order | None = None  # arrows from here on are not among the first
        self._nodes: dict[_End, int] = {}  # of brokers, once a response has named them

    def shows(self, time: float | None) -> bool:
        """Return whether an arrow of this time may be among the first."""
        return self.limit != 0 and (self._last is None or (time or 0.0) <= self._last[0])

    def add(self, call: Call, *, request: bool = True, response: bool = True, unanswered: bool = False) -> None:
        """Take the request of a call, and its response if it has one.

        `unanswered` says that there was none although the client wanted one.
        """
        if request:
            self._add(call, is_reply=False, unanswered=unanswered)
        if response and call.response is not None:
            self._add(call, is_reply=True)

    def _add(self, call: Call, *, is_reply: bool, unanswered: bool = False) -> None:
        self.count += 1
        place = call.place if is_reply else call.request_place
        time = call.answered if is_reply else call.asked
        number = place.frame if place.frame is not None else place.line or 0
        where = number, place.packet or 0, place.stream or 0
        order = time or 0.0, place.capture or place.file or "", where, is_reply
        broker = _End(1, call.broker, call.broker, place.capture or "")
        if call.node is not None:
            self._nodes[broker] = max(self._nodes.get(broker, call.node), call.node)
        if self.limit == 0 or (self._last is not None and order >= self._last):
            return
        client = _End(0, call.who, call.host.strip("[]"), place.capture or "")
        errors = tuple(call.errors) if is_reply else ()
        label = response_label(call) if is_reply else request_label(call)
        self._events.append(
            _Event(
                order,
                broker if is_reply else client,
                client if is_reply else broker,
                f"{label} (no answer)" if unanswered else label,
                "error" if errors else "warning" if unanswered else "",
                place._replace(time=place.time if is_reply else instant(call.asked)),
                call.api,
                call.version,
                errors,
                not unanswered,
                call.latency if is_reply else None,
            )
        )
        self._cut()

    def _cut(self) -> None:
        """Keep the first arrows alone if there are twice as many as the limit."""
        if self.limit is None or len(self._events) < max(2 * self.limit, 1):
            return
        self._events = self._first()
        if len(self._events) == self.limit:
            self._last = self._events[-1].order

    def _first(self) -> list[_Event]:
        return sorted(self._events, key=lambda event: event.order)[: self.limit]

    def chart(self) -> Chart:
        """Return the ladder: participants with clients first, and the first arrows in the order of time."""
        events = self._first()
        names = self._names(events)
        arrows = [
            Arrow(
                event.place.time,
                names[event.source].name,
                names[event.target].name,
                event.label,
                event.level,
                event.place.frame if event.place.frame is not None else event.place.line,
                event.is_reply,
            )
            for event in events
        ]
        times = [event.place.time for event in events if event.place.time]
        days = dict.fromkeys([min(times)[:10], max(times)[:10]]) if times else ()
        title = f"{' to '.join(days)}{zone_of(*times)}" if times else ""
        return Chart("ladder", title, note=self._more, participants=[*names.values()], arrows=arrows)

    def _names(self, events: Iterable[_Event]) -> dict[_End, Participant]:
        """Return the participants by end: clients first, each kind in the order of its first arrow.

        Ends of the same name are told apart by their addresses, and by their captures.
        """
        ends = sorted(
            dict.fromkeys(end for event in events for end in (event.source, event.target)), key=lambda end: end.sort
        )
        called = {end: f"node {self._nodes[end]}" if end in self._nodes else end.name for end in ends}
        alike = Counter(called.values())
        places = Counter((called[end], end.address) for end in ends)
        names: dict[_End, Participant] = {}
        taken: set[str] = set()
        for end in ends:
            name = called[end]
            if alike[name] > 1:
                name = f"{name} ({end.capture})" if places[name, end.address] > 1 else f"{name} {end.address}"
            if name in taken:
                name = f"{name} ({len(taken) + 1})"
            taken.add(name)
            names[end] = Participant(name, "" if end.address in name else end.address)
        return names

    @property
    def _more(self) -> str:
        more = self.count - (self.count if self.limit is None else min(self.limit, self.count))
        return f"… and {more} more; --top {self.count} shows all" if more else ""

    def answer(self, nothing: str = "") -> Answer:
        """Return the ladder, and its arrows as a table for programs; the note `nothing` if there is no arrow."""
        events = self._first()
        names = self._names(events)
        rows = [_row(event, names) for event in events]
        counts = [Fact("arrows", len(rows), "count", wide=True), Fact("allArrows", self.count, "count", wide=True)]
        blocks: list[Block] = [Facts(counts), Table("arrows", COLUMNS, rows, wide=True)]
        blocks.append(
            self.chart() if self.count else Note(nothing or "there is no request or response that was chosen", "info")
        )
        return Answer("sequence", blocks)


def _row(event: _Event, names: dict[_End, Participant]) -> tuple[Any, ...]:
    place = event.place
    return (
        place.time,
        place.frame,
        place.line,
        place.capture or place.file,
        names[event.source].name,
        event.source.address,
        names[event.target].name,
        event.target.address,
        "response" if event.is_reply else "request",
        event.api,
        event.version,
        event.label,
        [*event.errors],
        event.is_answered,
        event.latency,
    )


class LadderCalls:
    """The calls that are about some groups or transactions, all if none are named, put into a ladder: a fold.

    `takes` chooses lines of captures; None takes all. A response of a call may be taken without its request. If no
    groups or transactions are named, `about` says what a call is about: a call about nothing is left out.
    """

    def __init__(
        self,
        groups: Collection[str] = (),
        transactional_ids: Collection[str] = (),
        *,
        limit: int | None = MOST_ARROWS,
        takes: Callable[[Captured], bool] | None = None,
        about: Callable[[Call], Iterable[str]] | None = None,
    ) -> None:
        self.ladder = Ladder(limit)
        self._groups, self._ids, self._takes = frozenset(groups), frozenset(transactional_ids), takes
        self._about = about
        self._pairs = Pairs()
        self._topics: dict[str, str] = {}
        """Names of topic ids that a request log told."""
        self._taken: set[Captured] = set()
        """Requests that were chosen and whose pairs are not complete."""

    def add(self, subject: Traffic | TcpConnection) -> None:
        """Take in a line of a capture, a TCP connection, or an exchange of a request log."""
        if isinstance(subject, TcpConnection):
            for request, _ in self._pairs.end((subject.capture, subject.stream)):
                self._add(request, None, unanswered=subject.closed_by is not None)
        elif isinstance(subject, Exchange):
            self._topics.update(subject.named)
            logged = call_of_exchange(subject, lambda topic_id: self._topics.get(topic_id, topic_id))
            if self._is_about(logged):
                self.ladder.add(logged)
        elif not isinstance(subject, LineFault) and subject.is_frame and not _is_unknown(subject):
            self._line(subject)

    def _line(self, line: Captured) -> None:
        """Put a line to its pair. A chosen request is remembered until its pair is complete."""
        takes_line = self._takes is None or self._takes(line)
        for request, response in self._pairs.add(line):
            self._add(request, response, first=takes_line and request is line, second=takes_line and response is line)
        if takes_line and self._pairs.is_pending(line):
            self._taken.add(line)

    def _add(
        self,
        request: Captured,
        response: Captured | None,
        *,
        first: bool = False,
        second: bool = False,
        unanswered: bool = False,
    ) -> None:
        if request in self._taken:
            self._taken.remove(request)
            first = True
        if not first and not second:
            return
        is_choosing = bool(self._groups or self._ids or self._about)
        shown = is_choosing or self.ladder.shows(seconds(request.seen.time))
        call = call_of_lines(request, response, with_bodies=shown)
        if self._is_about(call):
            self.ladder.add(call, request=first, response=second, unanswered=unanswered)

    def answer(self, nothing: str = "") -> Answer:
        """Return the ladder, or the note `nothing` if there is no call."""
        for request, _ in self._pairs.end():
            self._add(request, None)
        return self.ladder.answer(nothing)

    def _is_about(self, call: Call) -> bool:
        if not self._groups and not self._ids:
            return self._about is None or any(self._about(call))
        return not self._groups.isdisjoint(groups_of(call)) or not self._ids.isdisjoint(transactions_of(call))


def _is_unknown(line: Captured) -> bool:
    return line.seen.plain is None and (line.guess or line.api_key is None)
