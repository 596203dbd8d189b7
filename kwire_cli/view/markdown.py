"""Answers as GitHub-flavoured Markdown, for comments on pull requests, summaries of jobs and wikis.

Cells and facts are formatted by the functions of `terminal`, without a limit of the width. Names in captures can
contain any text, so all text is escaped: it cannot create links, images or headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.answer import Chart, Facts, Note, Outline, Table
from kwire_cli.view.ladder import ladder_lines
from kwire_cli.view.lines import escaped, plain
from kwire_cli.view.tables import text_of
from kwire_cli.view.terminal import column_texts, fact_text, heading_text, lines_up, shown_facts, shown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.answer import Answer, Block, Level
    from kwire_cli.view.terminal import ShownTable

_ALERTS: dict[Level, str] = {"good": "TIP", "info": "NOTE", "warning": "WARNING", "error": "CAUTION"}
"""GitHub's alerts by the level of a note. Notes without a level are paragraphs."""
_MARKS = re.compile(
    r"[\\`*\[<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|^>|^[#+=-](?=[#=-]*(?:\s|$))|^\d+(?=[.)](?:\s|$))"
)
"""Characters that are Markdown syntax. Underscores within words, as in NOT_LEADER, are plain text."""
_FENCE = re.compile(r"`{3,}")


class TextTable(NamedTuple):
    """The cells of a table for documents: its headings, whether each column is aligned to the right, and its rows."""

    headings: list[str]
    is_right: list[bool]
    rows: list[tuple[str, ...]]


def text_table(shown: ShownTable) -> TextTable:
    """Return the cells of the displayed columns, without a limit of the width. Documents show no bars."""
    headings = []
    is_right = []
    cells = []
    for at, column in shown.columns:
        if column.wide or column.kind == "bar":
            continue
        values = [row[at] for row in shown.everything]
        headings.append(heading_text(column, values))
        is_right.append(lines_up(values[: len(shown.rows)], column))
        cells.append(column_texts(values, column))
    return TextTable(headings, is_right, list(zip(*cells, strict=True)))


def answer_markdown(answer: Answer) -> Iterator[str]:
    """Yield the lines of an answer: its title as a heading, then its blocks with an empty line before each.

    The content is the same as on a terminal of unlimited width. Ladders are text.
    """
    yield f"## {marked(answer.title)}"
    for block in answer.blocks:
        for lines in _parts(block):
            yield ""
            yield from lines


def marked(text: str) -> str:
    r"""Escape Markdown syntax: `|` becomes `\|`."""
    return _MARKS.sub(_escape, escaped(text))


def _escape(match: re.Match[str]) -> str:
    return match[0] + "\\" if match[0].isdigit() else f"\\{match[0]}"


def _parts(block: Block) -> Iterator[Iterable[str]]:
    """Yield the parts of a block, each as its lines."""
    match block:
        case Table():
            yield from _table(block)
        case Facts():
            if facts := shown_facts(block):
                yield from _title(block.title)
                yield [f"- {marked(text_of(fact.heading))}: {marked(fact_text(fact))}" for fact in facts]
        case Note():
            alert = [f"> [!{_ALERTS[block.level]}]"] if block.level else []
            yield [*alert, f"{'> ' if alert else ''}{marked(text_of(block.text))}"]
        case Outline():
            yield from _title(block.title)
            yield _fenced("text", [_item(item.depth, item.text, item.detail) for item in block.items])
        case Chart(kind="ladder"):
            yield from _title(block.title)
            yield _fenced("text", [plain(line) for line in ladder_lines(block, None)])
        case Chart():
            pass  # a table of the answer has the same numbers


def _title(title: str) -> Iterator[list[str]]:
    if title:
        yield [f"### {marked(text_of(title))}"]


def _table(table: Table) -> Iterator[list[str]]:
    if (shown := shown_table(table)) is None:
        return
    yield from _title(table.title)
    texts = text_table(shown)
    lines = [
        [marked(heading) for heading in texts.headings],
        ["---:" if is_right else "---" for is_right in texts.is_right],
    ]
    lines += [[marked(text) for text in row] for row in texts.rows]
    if table.total:
        lines[-1] = [f"**{cell}**" if cell.strip() else cell for cell in lines[-1]]
    if texts.headings:
        yield [f"| {' | '.join(line)} |" for line in lines]
    if shown.hidden:
        yield [f"… and {shown.hidden} more"]
    if table.note:
        yield [marked(text_of(table.note))]


def _item(depth: int, text: str, detail: str) -> str:
    return "  " * depth + text_of(text) + (f"  {text_of(detail)}" if detail else "")


def _fenced(language: str, lines: list[str]) -> Iterator[str]:
    """Yield a code block. Its fence is longer than all fences in the lines."""
    longest = max(map(len, _FENCE.findall("\n".join(lines))), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence
