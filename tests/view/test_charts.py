"""Charts of answers as SVG: what is drawn is what the answer has."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from kit.commands import ROOT, kwire

import kwire_cli
from kwire_cli.answer import Answer, Chart
from kwire_cli.view.charts import MAX_BARS, STYLE, WIDTH, charts_svg, drawable

CAPTURE = ROOT / "samples/incidents/rebalancing.pcap"
SVG = "{http://www.w3.org/2000/svg}"


def drawn(*charts):
    return ET.fromstring("\n".join(charts_svg(charts)))


def texts(root, look):
    return [element.text for element in root.iter(f"{SVG}text") if element.get("class", "") == look]


def rectangles(root):
    return [
        (*(float(each.get(name)) for name in ("x", "y", "width")), each.findtext(f"{SVG}title"))
        for each in root.iter(f"{SVG}rect")
    ]


def test_bars_are_as_long_as_their_numbers():
    root = drawn(Chart("bars", "Bytes", [("a", 400), ("b", 100), ("c", 1)], whole=1000, note="of all"))
    assert texts(root, "name") == ["a", "b", "c"]
    assert texts(root, "") == ["400 bytes  40.0%", "100 bytes  10.0%", "1 byte  0.1%"]
    assert texts(root, "note") == ["of all"]
    widths = [width for _, _, width, _ in rectangles(root)]
    assert [round(width / widths[1], 2) for width in widths] == [4, 1, 0.01]


def test_further_bars_are_counted():
    root = drawn(
        Chart("histogram", "Latency", [(f"≤ {number} ms", number / 2) for number in range(MAX_BARS + 3)], unit="ms")
    )
    assert len(texts(root, "name")) == MAX_BARS
    assert texts(root, "note") == ["and 3 more"]
    assert texts(root, "")[1] == "0.50 ms"


def test_rectangles_of_an_icicle_are_within_those_above():
    sizes = [(("Fetch", "topics", "name"), 30), (("Fetch", "topics", "id"), 10), (("Fetch",), 20), (("Produce",), 40)]
    root = drawn(Chart("icicle", "What takes the bytes", sizes))
    found = {title.rpartition(":")[0]: (x, y, width) for x, y, width, title in rectangles(root)}
    assert {name: round(width / WIDTH, 2) for name, (_, _, width) in found.items()} == {
        "Fetch": 0.6,
        "Produce": 0.4,
        "Fetch topics": 0.4,
        "Fetch topics name": 0.3,
        "Fetch topics id": 0.1,
    }
    for above, below in pairwise(["Fetch", "Fetch topics", "Fetch topics id"]):
        (x, y, width), (inner_x, inner_y, inner_width) = found[above], found[below]
        assert inner_y > y
        assert x <= inner_x
        assert inner_x + inner_width <= x + width + 0.1


def test_names_from_bytes_are_only_text():
    name = "</text><script>alert(1)</script>\x1b[2J\u202e&\"'"
    root = drawn(Chart("bars", name, [(name, 1)], note=name), Chart("icicle", name, [((name, name), 1)]))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "title", "style", "g", "text", "rect"}
    assert all(
        set(element.attrib) <= {"class", "x", "y", "width", "height", "transform", "viewBox", "role"}
        for element in root.iter()
    )
    assert all(text.strip().isprintable() for text in root.itertext() if text != STYLE)


@pytest.mark.parametrize("question", ["stats", "overhead"])
def test_an_answer_draws_its_charts(question):
    answer = getattr(kwire_cli, question)(CAPTURE)
    root = ET.fromstring(answer.plot().svg)
    assert texts(root, "title") == [
        chart.title for chart in drawable(block for block in answer.blocks if isinstance(block, Chart))
    ]
    assert "data:image/svg+xml;base64," in answer.plot()._repr_html_()
    assert answer._repr_html_().count("<img") == len(texts(root, "title"))


def test_a_ladder_is_drawn_and_nothing_is_an_error():
    assert "JoinGroup" in kwire_cli.sequence(CAPTURE).plot().svg
    with pytest.raises(kwire_cli.InputError, match="this answer has no chart to draw"):
        Answer("empty", [Chart("bars", "none", [])]).plot()


def test_commands_write_pictures_by_the_suffix(tmp_path):
    file = tmp_path / "chart.svg"
    assert kwire("stats", CAPTURE, "-o", file).code == 0
    assert file.read_text("utf-8") == f"{kwire_cli.stats(CAPTURE).plot().svg}\n"
    done = kwire("clients", CAPTURE, "-o", tmp_path / "none.svg")
    assert done.code == 2
    assert "this answer has no chart to draw" in done.err
