"""Answers: what a question found out, as plain data. `view` renders an Answer; nothing here knows a format.

Values are Python's own: numbers stay numbers, durations are seconds, shares are parts of 1, instants are ISO 8601
texts in UTC, those of clocks without a zone (request logs) without a Z.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

Kind = Literal[
    "text",
    "count",
    "bytes",
    "number",
    "share",
    "duration",
    "instant",
    "id",
    "flag",
    "list",
    "map",
    "json",
    "bar",
    "spark",
]
"""Kinds of values.

A `number` may have a fraction, a `share` is a part of 1, a `duration` is in seconds, an `instant` is ISO 8601 text, an
`id` is a number or a name that is not to be added up, a `list` holds values, a `map` holds counts by name, `json` is
any JSON value. A `bar` is a number that repeats another column: terminals and pages draw the bar, other formats leave
the column out. A `spark` is a list of numbers, one for each step of time, None where there is nothing to measure:
terminals and pages draw a line of columns as high as the numbers, other formats have the list.
"""
Level = Literal["", "good", "info", "warning", "error"]
"""Levels of importance for a person. What a diff adds is `good`, what it removes an `error`."""

NUMBERS = frozenset({"count", "bytes", "number", "share", "duration"})
"""Kinds that line up to the right, and that sort as numbers."""
MOST_ROWS = 25
"""Rows of a table that a person is shown, unless --top says otherwise."""


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return counts by name, the largest first, and equal counts by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def words(name: str) -> str:
    """Return the words of a camelCase name: `overheadBytes` is `overhead bytes`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


class Column(NamedTuple):
    """A column of a table.

    `name` is its camelCase key in JSON, csv and Arrow; `title` is its heading, by default the words of the name.
    `keep` says which columns go first on a narrow terminal: those of the largest number; columns of 0 always stay.
    `level` marks a column whose values a person should notice. A `wide` column is left to programs, and to pages
    that have room. A
    `sparse` one shows no zeros to eyes. The `unit` of a duration is that of its numbers for eyes: s, ms or µs, by
    default the one that fits the largest.
    """

    name: str
    kind: Kind = "text"
    title: str = ""
    unit: str = ""
    keep: int = 0
    level: Level = ""
    wide: bool = False
    sparse: bool = False
    digits: int | None = None
    """Digits behind the point of numbers, and of the seconds of instants, for eyes. By default what the kind needs."""
    absent: str = ""
    """The text for eyes in place of None."""
    once: bool = False
    """Whether eyes see a value of several rows below each other in the first one alone."""

    @property
    def heading(self) -> str:
        """The heading of the column."""
        return self.title or words(self.name)


Row = tuple[Any, ...]


class Table(NamedTuple):
    """Rows under columns; `rows` may be an iterator whose rows come one by one.

    `total` is a last row that adds up the others. A terminal and a page show the first `shown` rows, and say how many
    more there are; programs get all of them. `note` is said below the table. A `wide` table is left to programs.
    """

    name: str
    columns: Sequence[Column]
    rows: Iterable[Row]
    title: str = ""
    total: Row | None = None
    shown: int | None = None
    note: str = ""
    wide: bool = False

    def __repr__(self) -> str:
        return f"<Table {self.name}: {_rows_text(self)}{', '.join(column.name for column in self.columns)}>"

    def _repr_html_(self) -> str:
        return str(_view("html.notebook").table_html(self))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as objects, as --format json has them. Rows that come one by one are used up."""
        return [*_view("answers").table_documents(self)]

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table, with the types that --format arrow has. Needs `kwire[lake]`."""
        return _view("arrow").arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas, which has to be installed."""
        frame: pd.DataFrame = _view("arrow").data_frame(self.to_arrow(), "pandas")
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a DataFrame of polars, which has to be installed."""
        frame: pl.DataFrame = _view("arrow").data_frame(self.to_arrow(), "polars")
        return frame


class Fact(NamedTuple):
    """A single value under a camelCase name.

    A `wide` fact is left to programs. A `spoken` one says in words what tables have in numbers: it is left to people.
    """

    name: str
    value: Any
    kind: Kind = "text"
    title: str = ""
    level: Level = ""
    wide: bool = False
    spoken: bool = False

    @property
    def heading(self) -> str:
        """The words that stand before the value."""
        return self.title or words(self.name)


class Facts(NamedTuple):
    """Single values that belong together.

    `facts` may be an iterator: it is read after the tables that stand before it, whose rows it may count.
    """

    facts: Iterable[Fact]
    title: str = ""


class Note(NamedTuple):
    """A sentence about the answer."""

    text: str
    level: Level = ""


class Item(NamedTuple):
    """A line of an outline: how deep it is, its text, and what stands behind the text."""

    depth: int
    text: str
    detail: str = ""
    level: Level = ""


class Outline(NamedTuple):
    """Lines below lines. One without a name is for people alone."""

    name: str
    items: Iterable[Item]
    title: str = ""


class Participant(NamedTuple):
    """A participant of a ladder: a name that no other participant of the ladder has, and what it is besides."""

    name: str
    detail: str = ""


class Arrow(NamedTuple):
    """An arrow of a ladder: what one participant sends to another.

    `source` and `target` are names of participants. `time` is ISO 8601 text in UTC, `number` that of a frame or a line.
    An arrow that is a `reply` answers another one.
    """

    time: str | None
    source: str
    target: str
    label: str
    level: Level = ""
    number: int | None = None
    reply: bool = False


class Chart(NamedTuple):
    """Numbers to draw, or a ladder.

    Series of `bars` and `histogram` are pairs of a name and a number; those of an `icicle` pairs of a path (a tuple of
    names, the outermost first) and a size. `whole` is what all bars are parts of. Pages draw them, other formats have
    their numbers in tables.

    A `ladder` (sequence diagram) has `participants` and `arrows` in the order of time, and no series. Terminals and
    pages draw it, and it can be written as a picture; other formats have its arrows in a table.
    """

    kind: Literal["bars", "histogram", "icicle", "ladder"]
    title: str
    series: Iterable[tuple[Any, float]] = ()
    unit: str = "byte"
    whole: float | None = None
    note: str = ""
    participants: Sequence[Participant] = ()
    arrows: Sequence[Arrow] = ()


Block = Table | Facts | Note | Outline | Chart


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture as SVG: nothing in it is loaded from elsewhere or runs."""

    svg: str

    def _repr_html_(self) -> str:
        return str(_view("html.notebook").picture_html(self.svg))


@dataclass(frozen=True, repr=False)
class Answer:
    """The result of a question: a title, and blocks in the order in which a person reads them.

    `found` says that there is what the question looks for, such as a fault: the command exits with 1.
    """

    title: str
    blocks: Sequence[Block]
    found: bool = False

    @property
    def tables(self) -> list[Table]:
        """The tables, in order."""
        return [block for block in self.blocks if isinstance(block, Table)]

    @property
    def facts(self) -> dict[str, Any]:
        """The values of the facts by name."""
        lists = (block.facts for block in self.blocks if isinstance(block, Facts))
        return {fact.name: fact.value for facts in lists for fact in facts if not fact.spoken}

    @property
    def notes(self) -> list[str]:
        """The texts of the notes."""
        return [block.text for block in self.blocks if isinstance(block, Note)]

    def __getitem__(self, name: str) -> Table:
        """Return the table of a name. Raises KeyError, with the names that there are, if there is no such table."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"{name!r}: the tables are {', '.join(table.name for table in self.tables)}")

    def __repr__(self) -> str:
        tables = ", ".join(f"{table.name} ({_rows_text(table).rstrip(' ,')})" for table in self.tables)
        return f"<Answer {self.title}: {tables or 'no tables'}>"

    def _repr_html_(self) -> str:
        return str(_view("html.notebook").answer_html(self))

    def read(self) -> Answer:
        """Return the answer with all rows read, so that they can be shown more than once."""
        blocks: list[Block] = []
        for block in self.blocks:
            match block:
                case Table():
                    blocks.append(block._replace(rows=[*block.rows]))
                case Facts():
                    blocks.append(block._replace(facts=[*block.facts]))
                case Outline():
                    blocks.append(block._replace(items=[*block.items]))
                case Chart():
                    blocks.append(block._replace(series=[*block.series]))
                case Note():
                    blocks.append(block)
        return replace(self, blocks=blocks)

    def plot(self) -> Picture:
        """Return the charts of the answer, or its ladder, as a picture that notebooks show.

        Raises InputError if the answer has nothing to draw.
        """
        return Picture("\n".join(_view("charts").picture_of(self)))

    @property
    def ladder(self) -> Chart | None:
        """The first ladder, None if there is none."""
        return next((block for block in self.blocks if isinstance(block, Chart) and block.kind == "ladder"), None)


def _rows_text(table: Table) -> str:
    """Return the number of rows, if it is known."""
    if not isinstance(table.rows, Sized):
        return ""
    return f"{len(table.rows)} row{'' if len(table.rows) == 1 else 's'}, "


def _view(module: str) -> Any:
    """Return a module of `view`, which is loaded by name: whoever has an Answer in hand may ask for its rendering, and
    nothing here knows one.
    """
    return import_module(f"{__package__}.view.{module}")
