"""Sequence diagrams (ladders): as lines for a terminal, and as a picture in SVG.

Each participant has a vertical lifeline, each request and response an arrow in a separate row. On a terminal, the width
decides: columns as wide as the names, narrower columns, or a plain list of arrows. SVG has room for all names, and
contains no scripts and no references to other files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.view.lines import escaped, plain
from kwire_cli.view.svg import LETTER, opening, text_element
from kwire_cli.view.widths import cell_width, cut, fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Arrow, Chart, Participant
    from kwire_cli.view.lines import Line

MOST_LANES = 24
"""Maximum number of columns. A ladder with more participants is a list of arrows."""
_LABEL_WIDTH = 34
"""Minimum cells of labels."""
_LANE_WIDTH = 9
"""Minimum cells of a column with a name."""
_TIME = 12
_GAP = 2
_STYLES = {"error": "warning", "warning": "bytes"}
_LIFE = "│"
_CROSS = "┼"
_FROM = "├"
_BACK = "┤"


def ladder_lines(chart: Chart, width: int | None) -> Iterator[Line]:
    """Yield the lines of a ladder that fit a width. Without a width, all names and labels are complete."""
    participants = chart.participants
    arrows = chart.arrows
    numbers = max((len(str(arrow.number)) for arrow in arrows if arrow.number is not None), default=0)
    left = _TIME + _GAP + (numbers + 1 if numbers else 0)
    lanes = _lanes(participants, None if width is None else width - left - _LABEL_WIDTH)
    if lanes is None:
        yield from _listed(chart, width, numbers)
        return
    yield _heads([escaped(participant.name) for participant in participants], lanes, left, width, "name")
    if any(participant.detail for participant in participants):
        yield _heads([escaped(participant.detail) for participant in participants], lanes, left, width, "dim")
    places = [sum(lanes[:at]) for at in range(len(lanes))]
    at_of = {participant.name: at for at, participant in enumerate(participants)}
    taken = left + (places[-1] if places else 0) + 1 + _GAP
    lives = _lives(places)
    for arrow in arrows:
        style = _STYLES.get(arrow.level, "")
        rung = _rung(lives, places[at_of[arrow.source]], places[at_of[arrow.target]], arrow)
        first, *more = _fold_label(escaped(arrow.label), width, taken)
        yield [(_clock(arrow, numbers), "dim"), (rung, style), (" " * _GAP, ""), (first, style)]
        for piece in more:
            yield [(" " * left, ""), (lives, ""), (" " * _GAP, ""), (piece, style)]
    if chart.note:
        yield [(escaped(chart.note), "dim")]


def _lanes(participants: Sequence[Participant], room: int | None) -> list[int] | None:
    """Return the widths of the columns of all participants. Return None if they do not fit."""
    wanted = []
    for participant in participants:
        text_width = max(cell_width(escaped(participant.name)), cell_width(escaped(participant.detail)))
        wanted.append(max(text_width + _GAP, _LANE_WIDTH))
    if len(participants) > MOST_LANES:
        return None
    if room is None or sum(wanted[:-1]) <= room:
        return wanted
    each = room // max(len(participants) - 1, 1)
    if each < _LANE_WIDTH:
        return None
    spare = sum(max(each - lane, 0) for lane in wanted[:-1])
    widest = each + spare // max(sum(lane > each for lane in wanted[:-1]), 1)
    return [*(min(lane, widest) for lane in wanted[:-1]), wanted[-1]]


def _heads(texts: Sequence[str], lanes: Sequence[int], left: int, width: int | None, style: str) -> Line:
    line: Line = [(" " * left, "")]
    for number, (text, lane) in enumerate(zip(texts, lanes, strict=True)):
        if number == len(texts) - 1:
            line.append((_cut(text, width, left + sum(lanes[:-1])), style))
        else:
            text = cut(text, lane - 1)  # noqa: PLW2901 - the same text
            line += [(text, style), (" " * (lane - cell_width(text)), "")]
    return line


def _clock(arrow: Arrow, numbers: int) -> str:
    """Return the time of day of an arrow, and its number."""
    time = (arrow.time or "")[11:23]
    number = "" if arrow.number is None else str(arrow.number)
    return f"{time:<{_TIME}}{f' {number:>{numbers}}' if numbers else ''}{' ' * _GAP}"


def _lives(places: Sequence[int]) -> str:
    """Return the lifelines of all participants."""
    cells = [" "] * (places[-1] + 1)
    for place in places:
        cells[place] = _LIFE
    return "".join(cells)


def _rung(lives: str, source: int, target: int, arrow: Arrow) -> str:
    """Return the row of an arrow from a lifeline to another one, across the lifelines between. An error ends in x."""
    cells = list(lives)
    first = min(source, target)
    last = max(source, target)
    stroke = "╌" if arrow.reply else "─"
    for at in range(first + 1, last):
        cells[at] = stroke if cells[at] == " " else _CROSS
    is_error = arrow.level == "error"
    if source == target:
        cells[first] = _FROM
    elif source < target:
        cells[first] = _FROM
        cells[last - 1] = "x" if is_error else ">"
    else:
        cells[last] = _BACK
        cells[first + 1] = "x" if is_error else "<"
    return "".join(cells)


def _fold_label(label: str, width: int | None, taken: int) -> list[str]:
    """Return a label in at most three pieces that fit to the right of the lifelines."""
    if width is None:
        return [label]
    room = max(width - taken, 1)
    if room < _LABEL_WIDTH // 2:
        return [cut(label, room, "end")]
    return [plain(piece) for piece in fold([(cut(label, 3 * room, "end"), "")], room)] or [""]


def _listed(chart: Chart, width: int | None, numbers: int) -> Iterator[Line]:
    """Yield the arrows of a ladder with too many participants for columns."""
    longest = max((cell_width(escaped(participant.name)) for participant in chart.participants), default=0)
    lane = longest if width is None else min(longest, max((width - _TIME - numbers - _LABEL_WIDTH) // 2 - 4, 4))
    for arrow in chart.arrows:
        ends = [cut(escaped(name), lane) for name in (arrow.source, arrow.target)]
        padded = [end + " " * (lane - cell_width(end)) for end in ends]
        style = _STYLES.get(arrow.level, "")
        stroke = f"{'╌' if arrow.reply else '─'}{'x' if arrow.level == 'error' else '>'}"
        head = f"{_clock(arrow, numbers)}{padded[0]} {stroke} {padded[1]}{' ' * _GAP}"
        yield [(head, "dim"), (_cut(escaped(arrow.label), width, cell_width(head)), style)]
    if chart.note:
        yield [(escaped(chart.note), "dim")]


def _cut(text: str, width: int | None, taken: int) -> str:
    return text if width is None else cut(text, max(width - taken, 1), "end")


# The picture in SVG, for files and for pages. Lengths are in pixels.

_ROW = 30
_TOP = 64
_RIGHT = 24
_MIN_SPAN = 150
_MAX_SPAN = 330


def _moment(arrow: Arrow) -> str:
    """Return the time of day of an arrow and its number."""
    return " ".join(filter(None, ((arrow.time or "")[11:23], "" if arrow.number is None else str(arrow.number))))


def _first_lifeline(chart: Chart, span: float) -> float:
    """Return the position of the first lifeline, which leaves room for the times and for half of its name."""
    times = max((len(_moment(arrow)) for arrow in chart.arrows), default=0) * LETTER + 20
    names = max((len(_fit(text, span)) for text in chart.participants[0]), default=0) if chart.participants else 0
    return round(max(times, names * LETTER / 2 + 8))


def _span(chart: Chart, at_of: dict[str, int]) -> float:
    """Return the distance between two lifelines that leaves room for the labels, at most `_MAX_SPAN`."""
    wanted: float = _MIN_SPAN
    for arrow in chart.arrows:
        lanes = max(abs(at_of[arrow.source] - at_of[arrow.target]), 1)
        wanted = max(wanted, (len(arrow.label) + 3) * LETTER / lanes)
    for participant in chart.participants:
        wanted = max(wanted, (max(len(participant.name), len(participant.detail)) + 2) * LETTER)
    return round(min(wanted, _MAX_SPAN))


def _fit(text: str, room: float) -> str:
    return cut(escaped(text), int((room - 10) / LETTER), "end")


_STYLE = """
:root { --ink: #22252a; --dim: #6b7078; --line: #c9c8c4; --warn: #a8321d; --late: #8a5a00; --back: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe2e6; --dim: #969ca6; --line: #454b54; --warn: #ff9a85; --late: #e0b566; --back: #15171a; }
}
svg { background: var(--back); font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
text { fill: var(--ink); text-anchor: middle; }
text.name { font-weight: 700; }
text.detail, text.time, text.note { fill: var(--dim); }
text.time, text.note { text-anchor: start; }
text.error { fill: var(--warn); }
text.warning { fill: var(--late); }
line { stroke: var(--ink); stroke-width: 1.2; }
line.life { stroke: var(--line); }
line.reply { stroke-dasharray: 4 3; }
line.error { stroke: var(--warn); }
line.warning { stroke: var(--late); }
"""


def ladder_svg(chart: Chart) -> Iterator[str]:
    """Yield the lines of an SVG file: a lifeline for each participant, an arrow and its label in each row.

    Nothing in the file is loaded from elsewhere or runs.
    """
    participants = chart.participants
    arrows = chart.arrows
    at_of = {participant.name: at for at, participant in enumerate(participants)}
    span = _span(chart, at_of)
    left = _first_lifeline(chart, span)
    bottom = _TOP + _ROW * len(arrows) + 16
    width = left + span * max(len(participants) - 1, 0) + span / 2 + _RIGHT
    width = round(max(width, len(escaped(chart.note)) * LETTER + 8 if chart.note else 0), 1)
    height = bottom + (20 if chart.note else 0)
    yield from opening(width, height, chart.title or "sequence of requests and responses", _STYLE)
    for at, participant in enumerate(participants):
        x = left + span * at
        yield _svg_line("life", x, _TOP - 18, x, bottom - 8)
        yield from _svg_text("name", x, 20, participant.name, span)
        yield from _svg_text("detail", x, 36, participant.detail, span)
    for row, arrow in enumerate(arrows):
        y = _TOP + _ROW * row + 12
        first = at_of[arrow.source]
        last = at_of[arrow.target]
        x = left + span * first
        to = left + span * last
        solid = f"arrow {arrow.level}".strip()
        head = 7 if to > x else -7
        yield from _svg_text("time", 8, y + 4, _moment(arrow))
        yield _svg_line(solid.replace("arrow", "arrow reply") if arrow.reply else solid, x, y, to, y)
        yield _svg_line(solid, to - head, y - 4, to, y)
        yield _svg_line(solid, to - head, y + 4, to, y)
        middle = (x + to) / 2 if to != x else x + span / 2
        reach = span * max(abs(last - first), 1)
        yield from _svg_text(f"label {arrow.level}".strip(), middle, y - 5, arrow.label, reach)
    yield from _svg_text("note", 8, bottom + 8, chart.note)
    yield "</svg>"


def _svg_line(look: str, x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="{look}" x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"/>'


def _svg_text(look: str, x: float, y: float, text: str, room: float | None = None) -> Iterator[str]:
    """Yield a `text` element that fits `room`. If the string is cut, the title of the element is complete.

    Yield nothing for an empty string.
    """
    whole = escaped(text)
    shown = whole if room is None else _fit(text, room)
    if shown:
        yield text_element(look, x, y, shown, whole)
