"""Answers, frames, messages and batches as pieces of HTML for notebooks.

A notebook stores its output and is often shared, so the HTML contains no scripts and secrets are always redacted.
Styles are attributes of elements, so that they do not apply to the rest of the notebook. The panes contain the lines of
the tree and hex views.
"""

from __future__ import annotations

from base64 import b64encode
from itertools import chain, islice
from typing import TYPE_CHECKING

from kwire_cli.answer import MOST_ROWS, Chart, Facts, Note, Outline, Table
from kwire_cli.records.batch import deep_anomalies
from kwire_cli.spec.catalog import catalog
from kwire_cli.view import hex as hex_view, tree
from kwire_cli.view.charts import charts_svg, drawable
from kwire_cli.view.ladder import ladder_lines
from kwire_cli.view.markdown import text_table
from kwire_cli.view.markup import markup_text
from kwire_cli.view.tables import text_of
from kwire_cli.view.terminal import fact_text, shown_facts, shown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.answer import Answer, Block, Item
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Batch
    from kwire_cli.view.lines import Line

_RAW_RECORDS = False
"""Whether to show records only as bytes."""
MOST_LINES = 400
"""Maximum number of lines of a pane."""
_STYLES = {
    "name": "font-weight:bold",
    "title": "font-weight:bold",
    "number": "color:#1a7f9c",
    "text": "color:#2b8a3e",
    "bytes": "color:#a66f00",
    "null": "color:#a33ea1",
    "meaning": "color:#3b6fd4",
    "dim": "opacity:.6",
    "warning": "color:#d6336c;font-weight:bold",
    "secret": "background:#ffe066;color:#000",
}
"""Styles of lines. The colours have enough contrast on light and on dark pages."""
_LEVELS = {"": "", "good": "text", "info": "meaning", "warning": "bytes", "error": "warning"}
_PANE = "flex:1 1 20em;max-height:30em;overflow:auto;margin:0;padding:.3em"
_ROW = "display:flex;flex-wrap:wrap;gap:.6em;font-size:.85em"


def answer_html(answer: Answer) -> str:
    """Return an answer: its title, facts, tables, outlines and notes. Tables have the same rows as on a terminal."""
    parts = chain.from_iterable(map(_parts, answer.blocks))
    return f"<div><h4>{markup_text(answer.title)}</h4>{''.join(parts)}</div>"


def table_html(table: Table) -> str:
    """Return the first rows of a table, and the number of further rows."""
    rows = list(table.rows)
    return "".join(_table(table._replace(rows=rows, shown=MOST_ROWS if table.shown is None else table.shown)))


def frame_html(frame: Frame) -> str:
    """Return a frame in two panes: fields and bytes. The secrets of `to_json` are redacted."""
    hidden = frame.hides(_RAW_RECORDS) if frame.hides else {}
    reading = frame.body.reading if frame.body else None
    return _panes(
        tree.frame_lines(frame.catalog, frame, hidden, reading=reading),
        hex_view.frame_lines(frame.catalog, frame, hidden, form=hex_view.HexForm(4), reading=reading),
    )


def message_html(body: Decoded) -> str:
    """Return a message in two panes: fields and bytes. The secrets of `to_json` are redacted."""
    hidden = body.hides(_RAW_RECORDS) if body.hides else frozenset()
    names = (body.reading and body.reading.catalog) or catalog()
    return _panes(
        tree.message_lines(names, body, hidden, reading=body.reading),
        hex_view.message_lines(names, body, hidden, form=hex_view.HexForm(4), reading=body.reading),
    )


def batch_html(batch: Batch) -> str:
    """Return a batch in two panes: records and bytes. The secrets of `to_json` are redacted."""
    names = batch.source.catalog or catalog()
    hide = batch.source.hide
    records = list(enumerate(islice(batch.records(), MOST_LINES)))
    notes = deep_anomalies(batch, hide)[len(batch.notes) :]
    return _panes(
        tree.tree_lines(batch, records, notes, tree.RecordLook(hide)),
        hex_view.batch_hex_lines(names, batch, hide, deep=True, form=hex_view.HexForm(4)),
    )


def picture_html(svg: str) -> str:
    """Return a picture as an image element, so that its styles do not apply to the rest of the page."""
    return f'<p><img alt="" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"></p>'


def _panes(fields: Iterable[Line], octets: Iterable[Line]) -> str:
    return f'<div style="{_ROW}">{_lines(fields)}{_lines(octets)}</div>'


def _lines(lines: Iterable[Line]) -> str:
    """Return a pane with the first lines."""
    source = iter(lines)
    texts = [_line(line) for line in islice(source, MOST_LINES)]
    if next(source, None) is not None:
        texts.append("…")
    return f'<pre style="{_PANE}">{chr(10).join(texts)}</pre>'


def _line(line: Line) -> str:
    return "".join(
        f'<span style="{_STYLES[style]}">{markup_text(text)}</span>' if style in _STYLES else markup_text(text)
        for text, style in line
    )


def _parts(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from _table(block)
        case Facts():
            rows = [
                f"<tr><td>{markup_text(fact.heading)}</td><td>{markup_text(fact_text(fact))}</td></tr>"
                for fact in shown_facts(block)
            ]
            yield f"{_heading(block.title)}<table>{''.join(rows)}</table>" if rows else ""
        case Note():
            yield f"<p>{_line([(text_of(block.text), _LEVELS[block.level])])}</p>"
        case Outline():
            yield f"{_heading(block.title)}{_lines(map(_item_line, block.items))}"
        case Chart(kind="ladder"):
            yield f"{_heading(block.title)}{_lines(ladder_lines(block, None))}"
        case Chart():
            if charts := drawable([block]):
                yield picture_html("\n".join(charts_svg(charts)))


def _item_line(item: Item) -> Line:
    detail = f"  {item.detail}" if item.detail else ""
    return [("  " * item.depth + item.text, _LEVELS[item.level]), (detail, "dim")]


def _table(table: Table) -> Iterator[str]:
    if (shown := shown_table(table)) is None:
        return
    texts = text_table(shown)
    sides = ["right" if is_right else "left" for is_right in texts.is_right]
    rows = [_row("th", texts.headings, sides), *(_row("td", row, sides) for row in texts.rows)]
    yield f"{_heading(table.title)}<table>{''.join(rows)}</table>"
    if shown.hidden:
        yield f"<p>… and {shown.hidden} more</p>"
    if table.note:
        yield f"<p>{markup_text(table.note)}</p>"


def _row(tag: str, cells: Iterable[str], sides: Iterable[str]) -> str:
    texts = [
        f'<{tag} style="text-align:{side}">{markup_text(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
    ]
    return f"<tr>{''.join(texts)}</tr>"


def _heading(title: str) -> str:
    return f"<h5>{markup_text(title)}</h5>" if title else ""
