"""Answers for a terminal: tables, facts, outlines and notes, laid out by rich.

rich knows nothing about the meaning of columns, so this module first decides which columns fit the terminal and how
wide each is (`_fit_columns`), formats the cells (`cell_text`), and leaves only alignment and colour to rich. `markdown`
and `html` use the same functions for cells, so that an answer has the same texts in all formats.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from kwire_cli.answer import NUMBERS, Chart, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.view.ladder import ladder_lines
from kwire_cli.view.lines import STYLES, escaped
from kwire_cli.view.tables import bar, spark, text_of
from kwire_cli.view.widths import cell_width, cut, fold, kept, shrunk, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from kwire_cli.answer import Answer, Block, Kind, Row
    from kwire_cli.view.lines import Line

UNBOUNDED = 100_000
"""Width of output that is not written to a terminal."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
"""Values whose cells are empty."""
_GAP = 2
"""Cells between columns."""
_FOLDED = 24
"""Cells of a text column. Longer texts are continued on further lines."""
_NARROW = 10
"""Minimum cells of a text column on a narrow terminal."""
_WORD = 15
"""Cells of the longest word that stays in one piece on a narrow terminal."""
_ENTRY = 40
"""Cells of the longest entry of a map, or name of an error, that stays in one piece."""
_SPOKEN = 8
"""Cells of the headings of spoken facts, so that the columns of several blocks are aligned."""
_DATE = len("2026-11-28 ")
_CLOCK = len("15:04:05.123")
_DIGITS = {"share": 1, "duration": 2}
_LEAST = 0.5 / 10 ** _DIGITS["duration"]
"""The smallest duration, in its unit, that is not rounded to zero."""
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SIZES = {name: (size, name) for size, name in _UNITS}
MOST_NAMES = 5
"""Maximum number of names of a map in a cell. A map from a capture can have any number of names."""
_STYLE: dict[Kind, str] = {
    "count": STYLES["number"],
    "bytes": STYLES["number"],
    "number": STYLES["number"],
    "share": STYLES["number"],
    "duration": STYLES["number"],
    "instant": STYLES["dim"],
    "spark": STYLES["number"],
}
_LEVEL = {
    "": "",
    "good": STYLES["text"],
    "info": STYLES["meaning"],
    "warning": STYLES["bytes"],
    "error": STYLES["warning"],
}


def answer_text(answer: Answer, width: int | None = None, *, colour: bool = False) -> str:
    """Return an answer as text without a last line feed.

    `width` is the width of the terminal. Columns with the largest `keep` are dropped until a table fits. Without a
    width, all columns are shown completely.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or UNBOUNDED,
        color_system="standard" if colour else None,
        force_terminal=colour,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=width is None,
        legacy_windows=False,
    )
    before: Block | None = None
    for block in answer.blocks:
        for number, part in enumerate(_block(block, width)):
            if before and number == 0 and not (isinstance(before, Note) and isinstance(block, Note)):
                console.print()
            console.print(part)
            before = block
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _block(block: Block, width: int | None) -> Iterator[RenderableType]:
    """Yield the parts of a block. The first one begins after an empty line."""
    match block:
        case Table():
            yield from _table(block, width)
        case Facts():
            if (grid := _facts(block)).row_count:
                yield grid
        case Outline():
            if block.title:
                yield _styled(block.title, STYLES["title"])
            if items := _outline(block, width):
                yield items
        case Note():
            yield _styled(block.text, _LEVEL[block.level])
        case Chart(kind="ladder"):
            if block.title:
                yield _styled(block.title, STYLES["title"])
            yield _text(ladder_lines(block, width))
        case Chart():
            pass  # a table of the answer has the same numbers


def _text(lines: Iterable[Line]) -> Text:
    """Join lines that fit the terminal."""
    texts = []
    for line in lines:
        parts = [(escaped(text), STYLES.get(style, style)) for text, style in line]
        texts.append(Text.assemble(*parts, no_wrap=True))
    return Text("\n").join(texts)


def _styled(text: str, style: str = "") -> Text:
    """Return text in a style, without characters that control a terminal."""
    return Text(escaped(text), style)


def _facts(block: Facts) -> Grid:
    facts = shown_facts(block)
    spoken = any(fact.spoken for fact in facts)
    grid = Grid.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(style=STYLES["dim"], no_wrap=True, min_width=_SPOKEN if spoken else None)
    grid.add_column()
    for fact in facts:
        if fact.spoken:
            grid.add_row(_styled(fact.heading, _LEVEL[fact.level]), _styled(text_of(fact.value)))
            continue
        grid.add_row(_styled(fact.heading), _styled(fact_text(fact), _LEVEL[fact.level] or _STYLE.get(fact.kind, "")))
    return grid


def shown_facts(block: Facts) -> list[Fact]:
    """Return the facts to display."""
    return [fact for fact in block.facts if not fact.wide and fact.value not in EMPTY]


def fact_text(fact: Fact) -> str:
    """Return the value of a fact for display, with its unit."""
    if fact.kind == "bytes" and isinstance(fact.value, int):
        return counted(fact.value, "byte")
    return cell_text(fact.value, Column(fact.name, fact.kind), unit_of([fact.value]), MOST_NAMES)


def _outline(block: Outline, width: int | None) -> Text:
    """Return the lines of an outline. Long lines are folded, and continued below their item."""
    lines: list[Line] = []
    for item in block.items:
        if width is None:
            lines.append(_item(item))
        else:
            lines += fold(_item(item), width, _indent(item, width))
    return _text(lines)


def _item(item: Item) -> Line:
    line: Line = [("  " * item.depth, ""), (text_of(item.text), _LEVEL[item.level])]
    return [*line, (f"  {text_of(item.detail)}", "dim")] if item.detail else line


def _indent(item: Item, width: int) -> str:
    """Return the indent of the continued lines of an item: one level deeper than the item, if there is room."""
    return "  " * min(item.depth + 1, max(width - _FOLDED, 0) // 2)


class ShownTable(NamedTuple):
    """The part of a table to display.

    `columns` are the columns with a value, each with its place in a row. `everything` is `rows` and the total, if there
    is one. `hidden` is the number of further rows.
    """

    rows: list[Row]
    everything: list[Row]
    columns: list[tuple[int, Column]]
    hidden: int


def shown_table(table: Table) -> ShownTable | None:
    """Return the part of a table to display. Return None if the table is not displayed."""
    rows = list(table.rows)
    if table.wide or table.shown == 0 or (not rows and not table.total and not table.note):
        return None
    hidden = 0 if table.shown is None else max(len(rows) - table.shown, 0)
    rows = rows[: len(rows) - hidden]
    everything = [*rows, *([table.total] if table.total else [])]
    columns = [(at, column) for at, column in enumerate(table.columns) if _has_value(everything, at, column)]
    return ShownTable(rows, everything, columns, hidden)


def _has_value(rows: Iterable[Row], at: int, column: Column) -> bool:
    return any(not is_blank(row[at], column) for row in rows)


def _table(table: Table, width: int | None) -> Iterator[RenderableType]:
    if (shown := shown_table(table)) is None:
        return
    rows = shown.rows
    everything = shown.everything
    columns = [(at, column) for at, column in shown.columns if not column.wide]
    texts = {}
    for at, column in columns:
        values = [row[at] for row in everything]
        texts[at] = column_texts(values, column)
    fitted = _fit_columns(columns, texts, width)
    grid = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style=STYLES["dim"])
    cells: dict[int, list[Text]] = {}
    for index, (at, column, room) in enumerate(fitted):
        folds = _folds(column, texts[at], last=index == len(fitted) - 1)
        cells[at] = _cells(texts[at], column, room, folds=folds)
        grid.add_column(
            _styled(heading_text(column, [row[at] for row in everything])),
            justify="right" if lines_up([row[at] for row in rows], column) else "left",
            style=_LEVEL[column.level] or _STYLE.get(column.kind) or (STYLES["name"] if index == 0 else ""),
            no_wrap=not folds or width is None,
            overflow="fold" if folds else "ellipsis",
            max_width=room,
        )
    for number in range(len(everything)):
        is_total = table.total is not None and number == len(everything) - 1
        grid.add_row(*[cells[at][number] for at, _, _ in fitted], style="bold" if is_total else None)
    if table.title:
        yield _styled(table.title, STYLES["title"])
    yield grid
    if shown.hidden:
        yield _styled(f"… and {shown.hidden} more", STYLES["dim"])
    if table.note:
        yield _styled(table.note, STYLES["dim"])


def _cells(texts: list[str], column: Column, room: int | None, *, folds: bool) -> list[Text]:
    """Return the cells of a column that is `room` wide. Instants that do not fit lose their date if it is always the
    same.
    """
    if room is None:
        return [_styled(text) for text in texts]
    if column.kind == "instant" and max(map(cell_width, texts)) > room:
        texts = times_of_day(texts)
    if not folds:
        return [_styled(cut(text, room, "list" if column.kind == "list" else "middle")) for text in texts]
    if column.kind == "json":
        return [_styled(text) for text in texts]
    return [Text("\n").join(map(_styled, wrapped(text, room))) for text in texts]


def times_of_day(texts: list[str]) -> list[str]:
    """Return instants without their date if all have the same date, else unchanged."""
    return [text[_DATE:] for text in texts] if _is_one_day(texts) else texts


def _is_one_day(texts: Iterable[str]) -> bool:
    return len({text[:_DATE] for text in texts if text}) == 1


def _folds(column: Column, texts: Sequence[str], *, last: bool) -> bool:
    """Return whether long texts of a column are continued on further lines. Texts of other columns are cut."""
    return column.kind != "list" and (last or (column.kind in {"text", "json"} and max(map(len, texts)) > _FOLDED))


def _fit_columns(
    columns: Sequence[tuple[int, Column]], texts: dict[int, list[str]], width: int | None
) -> list[tuple[int, Column, int | None]]:
    """Return the columns that fit, each with its place and width.

    A list, a text or the last column needs at most `_FOLDED` cells. A map or a column of errors needs the width of its
    longest entry, at most `_ENTRY`. If the columns are still too wide, texts are folded to `_NARROW` cells, or to the
    longest word up to `_WORD`, the widest column first. After that texts are folded within words, then names are cut,
    and finally maps, errors, numbers and times. Times lose their date first if it is the same in all rows.
    """
    if width is None or not columns:
        return [(at, column, None) for at, column in columns]
    sizes = [_sizes(column, texts[at], last=at == columns[-1][0]) for at, column in columns]
    stay = kept([column.keep for _, column in columns], [size[1] + _GAP for size in sizes], width + _GAP)
    wanted, *floors = zip(*[sizes[place] for place in stay], strict=True)
    widths = shrunk(wanted, floors, width - _GAP * (len(stay) - 1))
    return [(*columns[place], size) for place, size in zip(stay, widths, strict=True)]


def _sizes(column: Column, texts: Sequence[str], *, last: bool) -> tuple[int, ...]:
    """Return the preferred width of a column, then the minimum widths of the steps of shrinking, in order."""
    unit = len(" ms") if column.kind == "duration" else 0
    wanted = max(cell_width(escaped(column.heading)) + unit, *map(cell_width, texts))
    folds = column.kind in {"text", "json", "list", "map"} or last
    has_entries = column.kind == "map" or column.level == "error"
    needs = wanted
    least = wanted
    if column.kind == "instant" and _is_one_day(texts):
        needs = _CLOCK
    elif folds:
        entry = _longest_part(texts, ", ") if has_entries else 0
        needs = min(wanted, max(_FOLDED, len(column.heading), min(entry + 1, _ENTRY)))
    if has_entries or column.kind == "instant":
        least = needs
    elif folds:
        least = min(wanted, max(_NARROW, min(_longest_part(texts), _WORD)))
    narrow = min(wanted, _NARROW) if folds else least
    if _folds(column, texts, last=False):
        return wanted, needs, least, least, narrow, narrow
    return wanted, needs, needs, least, least, narrow


def _longest_part(texts: Sequence[str], separator: str | None = None) -> int:
    """Return the width of the longest part between separators, by default the longest word."""
    longest = 0
    for text in texts:
        longest = max(longest, *map(cell_width, text.split(separator)), 0)
    return longest


def lines_up(values: Sequence[Any], column: Column) -> bool:
    """Return whether the cells of a column are aligned to the right: numbers, and ids that are numbers."""
    return column.kind in NUMBERS or (column.kind == "id" and all(isinstance(value, int | None) for value in values))


def heading_text(column: Column, values: Sequence[Any]) -> str:
    """Return the heading of a column, with the unit of its durations."""
    return f"{column.heading} {unit_of(values, column)[1]}" if column.kind == "duration" else column.heading


def unit_of(values: Sequence[Any], column: Column | None = None) -> tuple[float, str]:
    """Return the unit of a column, by default the largest one in which the largest duration is at least 1.

    The column's unit is not used if all durations would be rounded to zero in it.
    """
    most = max((abs(value) for value in values if isinstance(value, int | float)), default=0)
    if column and (unit := _SIZES.get(column.unit)) and not (column.digits is None and 0 < most < _LEAST * unit[0]):
        return unit
    if most == 0:
        return _UNITS[1]
    for size, name in _UNITS:
        if most >= size:
            return size, name
    return _UNITS[-1]


def column_texts(values: Sequence[Any], column: Column) -> list[str]:
    """Return the cells of a column for display, in the unit of `heading_text`."""
    if column.kind == "bar":
        most = max((value for value in values if value), default=0)
        return [bar(value or 0, most) for value in values]
    unit = unit_of(values, column)
    texts = [cell_text(value, column, unit, MOST_NAMES, in_heading=True) for value in values]
    if column.once:
        texts = ["" if at and text == texts[at - 1] else text for at, text in enumerate(texts)]
    return texts


def is_blank(value: Any, column: Column) -> bool:
    """Return whether a cell is empty, or only shows the column's text for an absent value."""
    return value in EMPTY or (column.sparse and value == 0)


def cell_text(
    value: Any,
    column: Column,
    unit: tuple[float, str] = _UNITS[1],
    names: int | None = None,
    *,
    in_heading: bool = False,
) -> str:
    """Return a value for display. A duration is in `unit`, which follows the number unless the heading contains it.

    A map shows the first `names` entries, by default all.
    """
    if is_blank(value, column):
        return column.absent if value is None else ""
    if isinstance(value, str):
        return text_of(_moment(value, column.digits) if column.kind == "instant" else value)
    digits = _DIGITS.get(column.kind, 3) if column.digits is None else column.digits
    match column.kind:
        case "share":
            return f"{100 * value:.{digits}f} %"
        case "duration":
            return f"{value / unit[0]:.{digits}f}{'' if in_heading else f' {unit[1]}'}"
        case "flag":
            return "yes" if value else ""
        case "map":
            more = f" ({len(value) - names} more)" if names is not None and len(value) > names else ""
            return ", ".join(f"{count} {text_of(name)}" for name, count in list(value.items())[:names]) + more
        case "spark":
            return spark(value)
        case "list":
            return ", ".join(text_of(member) for member in value)
    return f"{value:.{digits}f}" if isinstance(value, float) else text_of(value)


def _moment(text: str, digits: int | None) -> str:
    """Return an instant for display, with at most `digits` digits of the fraction, 3 by default."""
    second, point, fraction = text.rstrip("Z").replace("T", " ").partition(".")
    shown = fraction[: 3 if digits is None else digits]
    return f"{second}{point}{shown}" if shown else second
