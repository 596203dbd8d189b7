"""The cost of a proposal on captured messages, as an Answer, and as text for a KIP.

Each priced frame has one row for each form in a table of DuckDB. The queries in `questions/proposal` add up the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.definition_changes import AS_IS
from kwire_cli.analysis.costs.forms import TAGGED
from kwire_cli.analysis.costs.inputs import frame_of
from kwire_cli.answer import Answer, Column, Fact, Facts, Note, Table
from kwire_cli.facts.costs.subjects import client_of, time_of
from kwire_cli.facts.memory import Tables
from kwire_cli.questions.traffic import queries_in, rows_of
from kwire_cli.source.kafka.captured import Captured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.proposals import Assumption, Pricing
    from kwire_cli.answer import Block
    from kwire_cli.message.redaction import Redaction

FORMS = (
    Column("message"),
    Column("form"),
    Column("messages", "count"),
    Column("bytes", "bytes"),
    Column("difference", "count"),
    Column("share", "share"),
    Column("perMessage", "count", "a message", digits=1),
    Column("p50", "count", digits=0),
    Column("p99", "count", digits=0),
    Column("largest", "bytes"),
    Column("perSecond", "count", "a second", digits=1, keep=1),
    Column("perDay", "count", "a day", digits=0),
)
"""Bytes of whole frames. `difference` is relative to the current form, and `share` is its share in the current size."""
CLIENTS = (
    Column("client", absent="-"),
    Column("form"),
    Column("messages", "count"),
    Column("bytes", "bytes"),
    Column("difference", "count"),
)
SHARES = (
    Column("message"),
    Column("messages", "count"),
    *(Column(name, "count") for name in ("plainUnset", "plainSet", "taggedUnset", "taggedSet")),
    Column("losesFrom", "share"),
)
"""Bytes that the new fields add in all messages. Tagged fields are larger if the share of messages is at least
`losesFrom`.
"""
_PRICES = (
    ("message", "VARCHAR"),
    ("client", "VARCHAR"),
    ("number", "INTEGER"),
    ("form", "VARCHAR"),
    ("before", "BIGINT"),
    ("size", "BIGINT"),
    ("unset", "BIGINT"),
    ("filled", "BIGINT"),
)
_NANOSECONDS = 1_000_000_000
MOST_NAMED = 3
"""Maximum number of message names in the text for a KIP."""


class ProposalPrices:
    """The priced frames of inputs. `skipped` counts the frames that were not decoded whole."""

    def __init__(self, redaction: Redaction, pricing: Pricing) -> None:
        self.pricing = pricing
        self.priced = self.skipped = self.all_bytes = 0
        self._queries = queries_in("proposal")
        self._tables = Tables(redaction, self._queries.values())
        self._tables.create("prices", _PRICES)
        self._times: tuple[int, int] | None = None

    def add(self, subject: Any) -> None:
        """Add a line of a capture or a frame. It is skipped if it was not decoded whole."""
        frame = frame_of(subject)
        self.all_bytes += subject.seen.size if isinstance(subject, Captured) else subject.size
        time = time_of(subject)
        if time is not None:
            first, last = self._times or (time, time)
            self._times = min(first, time), max(last, time)
        if frame is None or frame.body is None or not frame.body.exact:
            self.skipped += 1
            return
        sizes_by_form = self.pricing.price(frame)
        if sizes_by_form is None:
            return
        self.priced += 1
        before = sizes_by_form[AS_IS][0]
        for number, (form, sizes) in enumerate(sizes_by_form.items()):
            row = (frame.body.message, client_of(subject), number, form, before, *sizes)
            self._tables.put("prices", row)

    @property
    def emptiness(self) -> str:
        """The reason why there is no answer, or an empty string."""
        if self.priced:
            return ""
        refused = "; ".join(self.pricing.refused)
        return (
            f"no message is changed by the proposal ({self.pricing.others} others, {self.skipped} not decoded whole)"
            f"{f'; {refused}' if refused else ''}"
        )

    @property
    def seconds(self) -> float | None:
        """Return the time between the first and the last frame, or None if frames have no times."""
        return (self._times[1] - self._times[0]) / _NANOSECONDS if self._times else None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a query of `questions/proposal`."""
        self._tables.flush()
        return self._tables.rows(self._queries[name], {"seconds": self.seconds})

    def answer(self) -> Answer:
        """Return the prices as an answer."""
        shares = self.rows("shares")
        facts = [
            Fact("messages", self.priced, "count"),
            Fact("otherMessages", self.pricing.others, "count", "other messages, as before"),
            Fact("skipped", self.skipped, "count", "not decoded whole"),
            Fact("seconds", self.seconds, "duration", "time of the traffic"),
            Fact("assumed", ", ".join(f"{one.path} is {_assumed(one)}" for one in self.pricing.assumptions)),
        ]
        blocks: list[Block] = [
            Facts([fact for fact in facts if fact.value]),
            Table("forms", FORMS, rows_of(FORMS, self.rows("forms"))),
            Table("shares", SHARES, rows_of(SHARES, shares), "new fields in no message, and in all"),
            Table("clients", CLIENTS, rows_of(CLIENTS, self.rows("clients")), "clients"),
            *(Note(_sentence(row)) for row in shares[-1:]),
            *(Note(f"{number} cannot be written: {why}", "warning") for why, number in self.pricing.refused.items()),
        ]
        return Answer("Prices of a proposal", blocks)

    def kip_lines(self, command: str) -> Iterator[str]:
        """Yield a text and a table in Markdown for a KIP. They cover all messages that the proposal changes.

        `command` is the command that prints the same again.
        """
        rows = self.rows("forms")
        own = [row for row in rows if row["message"] == rows[-1]["message"]]
        before, *proposed = own
        where = f"In a capture of {self.seconds:.0f} s" if self.seconds else "In these messages"
        costs = [
            f"{_signed(row['difference'])} bytes ({row['share']:+.1%}, "
            f"{row['difference'] / max(self.all_bytes, 1):+.2%} of all traffic) {_as(row['form'])}"
            for row in proposed
        ]
        kinds = [*dict.fromkeys(row["message"] for row in rows if len(rows) == len(own) or row not in own)]
        named = " and ".join(kinds) if len(kinds) <= MOST_NAMED else f"{len(kinds)} kinds"
        what = f"{before['messages']:,} messages of {before['bytes']:,} bytes ({named})"
        yield f"{where} with {what}, the proposal costs {' and '.join(costs)}."
        for one in self.pricing.assumptions:
            yield f"Assumed: `{one.path}` is {_assumed(one)}."
        for share in self.rows("shares")[-1:]:
            yield _sentence(share)
        yield ""
        yield from (f"- {effect}" for effect in self.pricing.effects)
        yield ""
        yield "| form | bytes | difference | a message | p50 | p99 | largest | a day |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        for row in own:
            day = "" if row["per_day"] is None else _signed(round(row["per_day"]))
            yield (
                f"| {row['form']} | {row['bytes']:,} | {_signed(row['difference'])} | {row['per_message']:.1f} | "
                f"{row['p50']:.0f} | {row['p99']:.0f} | {row['largest']:,} | {day} |"
            )
        yield ""
        yield f"Measured with `{command}`."


def _assumed(one: Assumption) -> str:
    return one.text if one.share == 1 else f"{one.text} in {one.share:.0%} of the messages"


def _as(form: str) -> str:
    return f"as a {form} field" if form != "proposed" else "as proposed"


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def _sentence(row: dict[str, Any]) -> str:
    """Return the bytes of new fields, plain and tagged, and the share of messages at which plain is smaller."""
    count = row["messages"]
    unset = f"{row['plain_unset'] / count:.1f} bytes plain and {row['tagged_unset'] / count:.1f} {TAGGED}"
    filled = f"{row['plain_set'] / count:.1f} and {row['tagged_set'] / count:.1f}"
    text = f"The new fields add {unset} to a message that does not set them, {filled} to one that does"
    loses_from = row["loses_from"]
    if (row["plain_unset"], row["plain_set"]) == (row["tagged_unset"], row["tagged_set"]):
        return f"{text}: the versions of these messages are not flexible, so that nothing is tagged."
    if row["plain_unset"] == row["plain_set"] and row["tagged_unset"] == row["tagged_set"]:
        return f"{text}; --assume gives them values."
    if loses_from is None or loses_from >= 1:
        return f"{text}: the tag never loses."
    if loses_from <= 0:
        return f"{text}: the tag never pays."
    return f"{text}: the tag loses if more than {loses_from:.1%} of the messages set them."
