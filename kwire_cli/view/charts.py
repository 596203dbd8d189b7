"""Bars, histograms and icicles of an answer as SVG, for documents and notebooks.

All charts of an answer are in one picture, one below the other. The bars of a chart have the same scale. An icicle
shows the sizes of paths: it has a row for each level, and the width of a rectangle is the total size of all paths below
it. A picture contains no scripts and no references to other files, so it can be opened safely.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import Chart
from kwire_cli.errors import InputError
from kwire_cli.view.ladder import ladder_svg
from kwire_cli.view.lines import escaped
from kwire_cli.view.markup import markup_text
from kwire_cli.view.svg import LETTER, opening, text_element
from kwire_cli.view.widths import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from kwire_cli.answer import Answer

    Path: TypeAlias = tuple[Any, ...]

WIDTH = 760
ROW = 18
"""Height of a bar."""
TITLE = 30
"""Height of the title of a chart."""
NAME = 230
"""Width of the name before a bar."""
VALUE = 120
"""Width of the number after a bar."""
MAX_BARS = 60
"""Maximum number of bars of a chart. The note below the chart contains the number of further bars."""
MAX_DEPTH = 6
"""Maximum number of rows of an icicle."""
MIN_WIDTH = 2
"""Width of the narrowest rectangle of an icicle."""
STYLE = """
:root { --ink: #22252a; --dim: #6b7078; --bar: #3b6fd4; --edge: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe2e6; --dim: #969ca6; --bar: #6c97e8; --edge: #15171a; }
}
text { fill: var(--ink); font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
text.title { font-weight: 700; font-size: 13px; }
text.name { text-anchor: end; }
text.note { fill: var(--dim); }
text.cell { fill: var(--edge); }
rect { fill: var(--bar); stroke: var(--edge); }
"""


def picture_of(answer: Answer) -> Iterator[str]:
    """Return the lines of an SVG file with the ladder of an answer, or with its charts.

    Raise InputError if the answer has neither.
    """
    if answer.ladder is not None:
        return ladder_svg(answer.ladder)
    charts = drawable(block for block in answer.blocks if isinstance(block, Chart))
    if not charts:
        notes = "".join(f": {note}" for note in answer.notes)
        raise InputError(f"this answer has no chart to draw{notes}; --format table shows what it has")
    return charts_svg(charts)


def charts_svg(charts: Sequence[Chart]) -> Iterator[str]:
    """Yield the lines of an SVG file with charts. `view.ladder` draws ladders."""
    drawn: list[str] = []
    height = 0
    for chart in charts:
        lines, used = _icicle(chart) if chart.kind == "icicle" else _bars(chart)
        drawn.append(f'<g transform="translate(0,{height})">{"".join(lines)}</g>')
        height += used
    yield from opening(WIDTH, height, ", ".join(chart.title for chart in charts), STYLE)
    yield from drawn
    yield "</svg>"


def _bars(chart: Chart) -> tuple[list[str], int]:
    """Return the lines of a chart with a bar for each number, and its height."""
    series = list(chart.series)
    shown = series[:MAX_BARS]
    most = max((value for _, value in shown), default=0)
    scale = (WIDTH - NAME - VALUE) / (chart.whole or most or 1)
    lines = [_text(0, 18, chart.title, "title")]
    y = TITLE
    for name, value in shown:
        lines.append(_text(NAME - 8, y + 12, _fitted(str(name), NAME - 8), "name", str(name)))
        width = min(value * scale, float(WIDTH - NAME - VALUE))
        lines.append(f'<rect x="{NAME}" y="{y + 2}" width="{width:.1f}" height="{ROW - 4}"/>')
        lines.append(_text(NAME + width + 6, y + 12, _number(value, chart)))
        y += ROW
    more = f"and {len(series) - len(shown)} more" if len(series) > len(shown) else ""
    for note in filter(None, (more, chart.note)):
        lines.append(_text(NAME, y + 12, note, "note"))
        y += ROW
    return lines, y + ROW


def _number(value: float, chart: Chart) -> str:
    share = f"  {value / chart.whole:.1%}" if chart.whole else ""
    if isinstance(value, int):
        unit = chart.unit if value == 1 or chart.unit.endswith("s") else f"{chart.unit}s"
        return f"{value:,} {unit}{share}"
    return f"{value:,.2f} {chart.unit}{share}"


def _icicle(chart: Chart) -> tuple[list[str], int]:
    """Return the lines of an icicle, with a rectangle for each prefix of a path, and its height."""
    sizes: Counter[Path] = Counter()
    for path, size in chart.series:
        for depth in range(1, min(len(path), MAX_DEPTH) + 1):
            sizes[tuple(path[:depth])] += int(size)
    below: dict[Path, list[Path]] = {}
    for path in sorted(sizes, key=lambda path: (-sizes[path], str(path))):
        below.setdefault(path[:-1], []).append(path)
    lines = [_text(0, 18, chart.title, "title")]
    total = sum(sizes[path] for path in below.get((), ()))
    rows = 0
    places: list[tuple[Path, float]] = [((), 0.0)]
    for above, start in places:  # the loop appends to the list, so all rectangles of a row precede the next row
        x = start
        for path in below.get(above, ()):
            width = sizes[path] * WIDTH / total
            if width < MIN_WIDTH:
                break
            lines += _rectangle(path, sizes[path], x, width)
            places.append((path, x))
            rows = max(rows, len(path))
            x += width
    return lines, TITLE + (rows + 1) * ROW


def _rectangle(path: Path, size: float, x: float, width: float) -> Iterator[str]:
    y = TITLE + (len(path) - 1) * ROW
    title = markup_text(f"{' '.join(map(str, path))}: {size:,} bytes")
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}"><title>{title}</title></rect>'
    if width > 4 * LETTER:
        yield _text(x + 4, y + 13, _fitted(str(path[-1]), width - 4), "cell")


def _fitted(text: str, room: float) -> str:
    return cut(escaped(text), int(room / LETTER), "middle")


def _text(x: float, y: float, text: str, look: str = "", whole: str = "") -> str:
    return text_element(look, round(x, 1), y, text, escaped(whole))


def drawable(charts: Iterable[Chart]) -> list[Chart]:
    """Return the charts that are not empty and not ladders, with their series as lists."""
    read = ((chart, list(chart.series)) for chart in charts if chart.kind != "ladder")
    return [chart._replace(series=series) for chart, series in read if series]
