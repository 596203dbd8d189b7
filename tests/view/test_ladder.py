"""Ladders drawn: they fit every width, and are well-formed as SVG whatever names say."""

import re
from xml.dom.minidom import parseString

import pytest
from rich.cells import cell_len

from kwire_cli.answer import Answer, Arrow, Chart, Participant
from kwire_cli.view.ladder import MOST_LANES, ladder_lines, ladder_svg
from kwire_cli.view.terminal import answer_text

TIME = "2026-11-21T10:00:00.123456Z"
EVIL = (
    "end",
    "a;b",
    "%%{init: {}}%%",
    "wrap: x",
    "<script>alert(1)</script>",
    "a->>b: c",
    "#quot;",
    "$$x$$",
    "\x1b[2J\n\r",
    "🦆" * 9,
    "]]>&amp;'\"",
    "\ud800",
    "",
)


def ladder(people=("app", "node 1"), arrows=((0, 1, "Metadata v12"), (1, 0, "Metadata v12 -> 1 broker")), note=""):
    participants = [Participant(name, "10.0.0.1") for name in people]
    rungs = [
        Arrow(TIME, people[source], people[target], label, "error" if "!" in label else "", number, source > target)
        for number, (source, target, label) in enumerate(arrows, 7)
    ]
    return Chart("ladder", "2026-11-21 UTC", note=note, participants=participants, arrows=rungs)


def test_a_ladder_has_a_column_for_each_participant():
    arrows = ((0, 2, "Fetch v12"), (2, 0, "Fetch v12 -> !"), (1, 2, "Heartbeat v4"))
    assert answer_text(Answer("sequence", [ladder(("one", "two", "node 1"), arrows)]), 80).splitlines() == [
        "2026-11-21 UTC",
        "                one       two       node 1",
        "                10.0.0.1  10.0.0.1  10.0.0.1",
        "10:00:00.123 7  ├─────────┼────────>│  Fetch v12",
        "10:00:00.123 8  │x╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤  Fetch v12 -> !",
        "10:00:00.123 9  │         ├────────>│  Heartbeat v4",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("count", [1, 2, 5, 12, MOST_LANES, MOST_LANES + 1, 60])
def test_a_ladder_fits_the_terminal(width, count):
    people = tuple(f"client-with-a-long-name-{number}" for number in range(count))
    arrows = tuple((number, count - 1 - number, "Fetch v12 -> " + "x" * 200) for number in range(count))
    lines = answer_text(Answer("sequence", [ladder(people, arrows, note="… and 9 more")]), width).splitlines()
    assert len(lines) > count
    if width >= 40:
        assert max(map(cell_len, lines)) <= width


def test_a_long_label_goes_on_below_beside_the_lifelines():
    arrows = ((0, 1, "SaslAuthenticate v2 -> SASL_AUTHENTICATION_FAILED!"),)
    assert answer_text(Answer("sequence", [ladder(("app", "node 1"), arrows)]), 60).splitlines()[3:] == [
        "10:00:00.123 7  ├────────x│  SaslAuthenticate v2 ->",
        "                │         │  SASL_AUTHENTICATION_FAILED!",
    ]


def test_names_that_do_not_fit_make_a_list():
    people = tuple(f"client-{number}" for number in range(6))
    lines = answer_text(Answer("sequence", [ladder(people, ((0, 5, "Fetch v12"),))]), 80).splitlines()
    assert lines[1:] == ["10:00:00.123 7  client-0 ─> client-5  Fetch v12"]


@pytest.mark.parametrize("text", EVIL)
def test_names_move_no_cursor_and_break_no_line(text):
    people = (text, "node 1")
    for width in (None, 60, 100):
        for line in answer_text(Answer("s", [ladder(people, ((0, 1, text), (1, 0, text)))]), width).splitlines():
            assert line.isprintable()
    assert [*ladder_lines(ladder(people), None)]


@pytest.mark.parametrize("text", EVIL)
def test_svg_is_well_formed_and_loads_nothing(text):
    written = "\n".join(ladder_svg(ladder((text, "node 1"), ((0, 1, text + "!"), (1, 0, text)), note=text)))
    document = parseString(written.encode("utf-8", "backslashreplace"))
    elements = {element.tagName for element in document.getElementsByTagName("*")}
    assert elements <= {"svg", "title", "style", "line", "text"}
    assert re.findall(r"https?://[^\s\"']+|url\(|@import", written) == ["http://www.w3.org/2000/svg"]


def test_svg_keeps_labels_between_the_lifelines_that_they_are_of():
    written = "\n".join(ladder_svg(ladder(arrows=((0, 1, "x" * 400), (1, 0, "y" * 4)))))
    document = parseString(written)
    texts = {text.getAttribute("class"): text for text in document.getElementsByTagName("text")}
    lives = [
        float(line.getAttribute("x1"))
        for line in document.getElementsByTagName("line")
        if "life" in line.getAttribute("class")
    ]
    assert lives[0] < float(texts["label"].getAttribute("x")) < lives[1]
    assert "x" * 400 in written  # for a pointer over it
    assert float(document.documentElement.getAttribute("width")) > lives[1]
