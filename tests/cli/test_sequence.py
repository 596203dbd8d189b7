"""`kwire sequence`: which calls are chosen, of captures and request logs, in every format."""

from kit.commands import ROOT, kwire
from kit.views import data_of

GROUP = ROOT / "samples/incidents/rebalancing.pcap"
FIRST = ("--filter", "frame >= 30 and frame <= 38")
LATER = ("--filter", "frame >= 62 and frame <= 65")


def test_the_ladder_is_what_a_terminal_and_a_pipe_get():
    piped = kwire("sequence", GROUP, *FIRST)
    variables = {"NO_COLOR": "1", "COLUMNS": "100"}
    shown = kwire("sequence", GROUP, *FIRST, terminal=True, variables=variables)
    assert piped.out == shown.out == kwire("sequence", GROUP, *FIRST, "-f", "table").out
    assert "├──────────┼─────────>│  JoinGroup v7 payment-workers" in piped.out
    assert "│<╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌┤  JoinGroup v7 -> generation 1, leader of 1" in piped.out


def test_pictures_and_pages(tmp_path):
    svg, html = (tmp_path / name for name in ("a.svg", "a.html"))
    for file in (svg, html):
        assert kwire("sequence", GROUP, *LATER, "-o", file).code == 0
    assert svg.read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert svg.read_text() == kwire("sequence", GROUP, *LATER, "-f", "svg").out
    blocks = data_of("sequence", GROUP, *LATER, "-f", "html")["answers"]["sequence"]["blocks"]
    (block,) = [block for block in blocks if block["type"] == "picture"]
    assert block["svg"] == svg.read_text().removesuffix("\n")


def test_a_picture_is_not_for_a_terminal():
    done = kwire("sequence", GROUP, "-f", "svg", terminal=True)
    assert done.code == 2
    assert "write it to a file with -o chart.svg" in done.err
