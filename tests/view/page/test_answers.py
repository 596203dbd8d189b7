"""Answers as pages: they say what a terminal does, their tables have the numbers, their charts add up."""

import json

import pytest
from kit.commands import ROOT, json_of, kwire
from kit.views import data_of, keyed

CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def blocks_of(*arguments):
    """Return the blocks of the only answer of a page."""
    [answer] = data_of(*arguments, "--format", "html")["answers"].values()
    return answer["blocks"]


def is_bar(word):
    return not set(word) - set("▏▎▍▌▋▊▉█")


ANSWERS = [
    ("diff", "MetadataResponse", "9", "12"),
    ("diff", f"{CAPTURE}@4", f"{CAPTURE}@20"),
    ("dump", "samples/segments/__consumer_offsets-0", "--state"),
    ("overhead", CAPTURE),
    ("compare", "--advise", CAPTURE),
    ("compare", "--message", "MetadataResponse", "--make", "partitions=20", "--form", "packed"),
]


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_page_of_an_answer_says_all_that_a_terminal_shows(arguments):
    shown = kwire(*arguments, "--format", "table").out.split()
    words = {word for text in texts(blocks_of(*arguments)) for word in text.split()}
    assert {word for word in shown if not is_bar(word) and not word.isdecimal()} - words - {"ms"} == set()


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_the_icicle_and_the_bars_of_overhead_add_up_to_all_bytes():
    blocks = blocks_of("overhead", CAPTURE)
    total = json_of("overhead", CAPTURE)["facts"]["bytes"]
    sizes = next(block["sizes"] for block in blocks if block["type"] == "icicle")
    assert sum(size for _, size in sizes) == total
    assert sum(value for _, value in next(block["series"] for block in blocks if block["type"] == "bars")) == total


def test_charts_of_statistics_count_every_response():
    blocks = blocks_of("stats", CAPTURE)
    counted = keyed(json.loads(kwire("stats", CAPTURE, "--format", "json").out))
    charts = [block for block in blocks if block["type"] == "bars"]
    assert sum(value for _, value in charts[0]["series"]) == sum(
        group["latencyCount"] or 0 for group in counted["api"].values()
    )
    assert dict(next(block["series"] for block in charts if block["unit"] == "byte")) == {
        name: group["requestBytes"] + group["responseBytes"] for name, group in counted["api"].items()
    }
    table = next(block for block in blocks if block["type"] == "table" and block["columns"][0]["title"] == "client")
    assert {row[0]: row[1][0] for row in table["rows"]} == {
        name: group["requests"] for name, group in counted["client"].items()
    }


def test_a_page_exits_as_the_command_does_without_a_page():
    done = kwire("diff", "MetadataResponse", "9", "12", "--exit-code", "--format", "html")
    assert done.code == 1
    assert "--- MetadataResponse 9" in done.out
    assert kwire("diff", "MetadataResponse", "9", "12", "--format", "html", terminal=True).code == 2
