"""Answers: the results of questions, as data. `view` renders an Answer; this module does not depend on a format.

Values are Python's own: numbers stay numbers, durations are seconds, shares are parts of 1, and instants are ISO 8601
strings in UTC. Times of clocks without a zone, as in request logs, have no Z.
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

A `number` may have a fraction, a `share` is a part of 1, a `duration` is in seconds, an `instant` is an ISO 8601
string, an `id` is a number or a name without a meaningful sum, a `list` contains values, a `map` contains counts by
name, and `json` is any JSON value. A `bar` is a number that repeats another column: terminals and pages draw the bar,
other formats leave the column out. A `spark` is a list of numbers, one for each step of time, or None if the step has
no measurement: terminals and pages draw a sparkline, other formats have the list.
"""
Level = Literal["", "good", "info", "warning", "error"]
"""Levels of importance. In a diff, an addition is `good` and a removal is an `error`."""

NUMBERS = frozenset({"count", "bytes", "number", "share", "duration"})
"""Kinds that are aligned to the right, and sorted as numbers."""
MOST_ROWS = 25
"""Default number of rows of a table on a terminal. --top changes the number."""


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return counts by name, the largest first, and equal counts by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def words(name: str) -> str:
    """Return the words of a camelCase name: `overheadBytes` is `overhead bytes`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


class Column(NamedTuple):
    """A column of a table.

    `name` is its camelCase key in JSON, csv and Arrow; `title` is its heading, by default the words of the name.
    A narrow terminal drops the columns with the largest `keep` first. Columns with 0 always stay. `level` marks an
    important column. A `wide` column is for programs, and for pages with enough room. A `sparse` column shows no
    zeros. `unit` is the displayed unit of a duration: s, ms or µs, by default the unit that fits the largest value.
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
    """Displayed digits after the decimal point of numbers, and of the seconds of instants. The kind has a default."""
    absent: str = ""
    """The displayed string for None."""
    once: bool = False
    """Whether consecutive equal values are displayed only once."""

    @property
    def heading(self) -> str:
        """The heading of the column."""
        return self.title or words(self.name)


Row = tuple[Any, ...]


class Table(NamedTuple):
    """Rows with columns. `rows` may be an iterator.

    `total` is the sum of the rows. Terminals and pages show the first `shown` rows and the number of further rows;
    programs get all rows. `note` follows the table. A `wide` table is for programs only.
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
        """Return the rows as objects, as in --format json. An iterator of rows is consumed."""
        return [*_view("answers").table_documents(self)]

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table, with the types of --format arrow. Needs `kwire[lake]`."""
        return _view("arrow").arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas, which must be installed."""
        frame: pd.DataFrame = _view("arrow").data_frame(self.to_arrow(), "pandas")
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a DataFrame of polars, which must be installed."""
        frame: pl.DataFrame = _view("arrow").data_frame(self.to_arrow(), "polars")
        return frame


class Fact(NamedTuple):
    """A single value with a camelCase name.

    A `wide` fact is for programs only. A `spoken` fact repeats numbers of tables in words, and is for display only.
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
        """The words before the value."""
        return self.title or words(self.name)


class Facts(NamedTuple):
    """Single values that belong together.

    `facts` may be an iterator. It is read after the tables before it, so it may count their rows.
    """

    facts: Iterable[Fact]
    title: str = ""


class Note(NamedTuple):
    """A sentence about the answer."""

    text: str
    level: Level = ""


class Item(NamedTuple):
    """A line of an outline: its depth, its text, and a detail after the text."""

    depth: int
    text: str
    detail: str = ""
    level: Level = ""


class Outline(NamedTuple):
    """Nested lines. An outline without a name is for display only."""

    name: str
    items: Iterable[Item]
    title: str = ""


class Participant(NamedTuple):
    """A participant of a ladder: a unique name, and a second line."""

    name: str
    detail: str = ""


class Arrow(NamedTuple):
    """An arrow of a ladder: a message from one participant to another.

    `source` and `target` are names of participants. `time` is an ISO 8601 string in UTC, and `number` is the number of
    a frame or a line. A `reply` is the response to an earlier arrow.
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

    The series of `bars` and of a `histogram` contains pairs of a name and a number. The series of an `icicle` contains
    pairs of a path (a tuple of names, the outermost first) and a size. `whole` is the total of all bars. Pages draw
    charts; other formats have the numbers in tables.

    A `ladder` (sequence diagram) has `participants` and `arrows` in the order of time, and no series. Terminals, pages
    and pictures draw ladders; other formats have the arrows in a table.
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
    """A picture as SVG, without scripts and without references to other files."""

    svg: str

    def _repr_html_(self) -> str:
        return str(_view("html.notebook").picture_html(self.svg))


@dataclass(frozen=True, repr=False)
class Answer:
    """The result of a question: a title, and blocks in the order of display.

    `found` is True if the question found a fault or another reason to exit with 1.
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
        values: dict[str, Any] = {}
        for block in self.blocks:
            if isinstance(block, Facts):
                values |= {fact.name: fact.value for fact in block.facts if not fact.spoken}
        return values

    @property
    def notes(self) -> list[str]:
        """The sentences of the notes."""
        return [block.text for block in self.blocks if isinstance(block, Note)]

    def __getitem__(self, name: str) -> Table:
        """Return the table with a name. Raise KeyError with the known names if the answer does not have it."""
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
        """Return the answer with lists in place of iterators, so that it can be shown more than once."""
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
        """Return the charts of the answer, or its ladder, as a picture for notebooks.

        Raises InputError if the answer has neither.
        """
        return Picture("\n".join(_view("charts").picture_of(self)))

    @property
    def ladder(self) -> Chart | None:
        """The first ladder, or None if the answer has no ladder."""
        for block in self.blocks:
            if isinstance(block, Chart) and block.kind == "ladder":
                return block
        return None


def _rows_text(table: Table) -> str:
    """Return the number of rows as text. Empty if the number is unknown."""
    if not isinstance(table.rows, Sized):
        return ""
    return f"{len(table.rows)} row{'' if len(table.rows) == 1 else 's'}, "


def _view(module: str) -> Any:
    """Import a module of `view`. Answers offer their renderings as methods, but `view` depends on this module."""
    return import_module(f"{__package__}.view.{module}")
