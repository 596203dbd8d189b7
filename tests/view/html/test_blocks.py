"""Reports as pages: they say what a terminal does, their tables have the numbers, their charts add up."""

import json

import pytest
from kit.commands import ROOT, kwire
from kit.views import keyed, page

from kwire_cli.view.html.page import MOST_BRANCHES, icicle

CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def is_bar(word):
    return not set(word) - set("▏▎▍▌▋▊▉█")


ANSWERS = [
    ("diff", "MetadataResponse", "9", "12"),
    ("diff", CAPTURE, "--frames", "4,20"),
    ("dump", "samples/segments/__consumer_offsets-0", "--state"),
    ("overhead", CAPTURE),
    ("compare", "--advise", CAPTURE),
    ("compare", "--message", "MetadataResponse", "--partitions", "1..20", "--encoding", "packed"),
]


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_page_of_an_answer_says_all_that_a_terminal_shows(arguments):
    shown = kwire(*arguments, "--format", "table").out.split()
    words = {word for text in texts(page(*arguments).data["page"]["blocks"]) for word in text.split()}
    assert {word for word in shown if not is_bar(word) and not word.isdecimal()} - words - {"ms"} == set()


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_the_icicle_and_the_bars_of_overhead_add_up_to_all_bytes():
    blocks = page("overhead", CAPTURE).data["page"]["blocks"]
    total = json.loads(kwire("overhead", CAPTURE, "--format", "json").out)["facts"]["bytes"]
    root = next(block["root"] for block in blocks if block["type"] == "icicle")
    assert root["value"] == total
    assert sum(item["value"] for item in next(block for block in blocks if block["type"] == "bars")["items"]) == total

    def check(item):
        if item["children"]:
            assert sum(child["value"] for child in item["children"]) <= item["value"]
            for child in item["children"]:
                check(child)

    check(root)
    assert sum(child["value"] for child in root["children"]) == total


def test_histograms_of_advice_count_every_value():
    blocks = page("compare", "--advise", CAPTURE, "--histograms", "2").data["page"]["blocks"]
    tables = json.loads(kwire("compare", "--advise", CAPTURE, "--histograms", "2", "--format", "json").out)["tables"]
    histograms = [block for block in blocks if block["type"] == "histogram"]
    assert len(histograms) == 4
    for row, pair in zip(tables["integers"], (histograms[:2], histograms[2:]), strict=False):
        for encoding, block in zip(("packed", "upacked"), pair, strict=True):
            assert block["title"].startswith(f"{row['message']} {row['path']}")
            assert [item["value"] for item in block["items"]] == [
                width["count"]
                for width in tables["widths"]
                if (width["message"], width["path"], width["encoding"]) == (row["message"], row["path"], encoding)
            ]


def test_charts_of_statistics_count_every_response():
    blocks = page("stats", CAPTURE).data["page"]["blocks"]
    counted = keyed(json.loads(kwire("stats", CAPTURE, "--format", "json").out))
    latencies = next(block for block in blocks if block["type"] == "histogram")
    assert sum(item["value"] for item in latencies["items"]) == sum(
        group["latencyCount"] or 0 for group in counted["api"].values()
    )
    by_api = next(block for block in blocks if block["type"] == "bars")
    assert {item["name"]: item["value"] for item in by_api["items"]} == {
        name: group["requestBytes"] + group["responseBytes"] for name, group in counted["api"].items()
    }
    table = next(block for block in blocks if block["type"] == "table" and block["columns"][0] == "client")
    assert {row[0]: row[1][0] for row in table["rows"]} == {
        name: group["requests"] for name, group in counted["client"].items()
    }


def test_pairs_are_on_a_page_beside_each_other():
    rows = page("decode", CAPTURE, "--pairs").data["page"]["rows"]
    pairs = [json.loads(line) for line in kwire("decode", CAPTURE, "--pairs", "--format", "jsonl").out.splitlines()]
    wanted = [each["frame"] for pair in pairs for each in (pair["request"], pair["response"]) if each]
    assert [row["number"] for row in rows] == wanted


def test_an_icicle_keeps_the_largest_parts_and_the_sum_of_the_others():
    root = icicle("t", "all", (([str(i)], i) for i in range(1, MOST_BRANCHES + 4)))["root"]
    assert len(root["children"]) == MOST_BRANCHES + 1
    assert root["children"][-1] == {"name": "(3 more)", "value": 6, "children": []}
    assert sum(child["value"] for child in root["children"]) == root["value"]


def test_a_report_exits_as_it_does_without_a_page():
    done = kwire("diff", "MetadataResponse", "9", "12", "--exit-code", "--format", "html")
    assert done.code == 1
    assert "--- MetadataResponse 9" in done.out
    assert kwire("diff", "MetadataResponse", "9", "12", "--format", "html", terminal=True).code == 2
