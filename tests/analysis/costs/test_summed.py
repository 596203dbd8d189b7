"""Tallies merged: the same report, however many there were, in whatever order they are merged."""

import pickle
import random
from functools import partial
from pathlib import Path

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.overhead_answer import Overhead
from kwire_cli.analysis.costs.tallies import Tallies
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.view.answers import answer_document

CATALOG = kwire.catalog()
SAMPLES = Path(__file__).resolve().parents[3] / "samples"
BY = ("api", "topic")
TABLES = [("api",), ("topic", "kind"), ("field",), ("kind",)]


def captured(name):
    path = SAMPLES / "captures" / name
    capture = Capture(path)
    return traffic(CATALOG, capture, waiting_since=capture.waiting_since, again=partial(Capture, path))


def tallied(name, parts):
    """The tallies of all lines, and of every so many."""
    whole, some = Tallies(CATALOG, BY), [Tallies(CATALOG, BY) for _ in range(parts)]
    for number, line in enumerate(captured(name)):
        whole.add(line)
        some[number % parts].add(line)
    return whole, some


@pytest.mark.parametrize("name", ["kafka-python-4.4.0.pcapng", "midstream.pcap", "not-kafka.pcapng"])
def test_parts_are_the_whole(name):
    tallies, some = tallied(name, 3)
    whole = answer_document(Overhead(TABLES, tallies).answer(limits={}))
    assert tallies.messages > 3
    assert whole["facts"]["bytes"] == tallies.size > 0
    for seed in range(4):
        random.Random(seed).shuffle(some)
        total = Tallies(CATALOG, BY)
        for part in some:
            total.merge(pickle.loads(pickle.dumps(part)))
        assert answer_document(Overhead(TABLES, total).answer(limits={})) == whole
        assert total.largest.seen == tallies.largest.seen
