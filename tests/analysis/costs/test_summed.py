"""Costs merged: the same report, however many there were, in whatever order they are merged."""

import pickle
import random
from functools import partial
from pathlib import Path

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.facts.costs.counting import Costs
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


def counted_in(name, parts):
    """The costs of all lines, and of every so many."""
    whole, some = Costs(CATALOG, BY), [Costs(CATALOG, BY) for _ in range(parts)]
    for number, line in enumerate(captured(name)):
        whole.add(line)
        some[number % parts].add(line)
    return whole, some


@pytest.mark.parametrize("name", ["kafka-python-4.4.0.pcapng", "midstream.pcap", "not-kafka.pcapng"])
def test_parts_are_the_whole(name):
    costs, some = counted_in(name, 3)
    whole = answer_document(Overhead(TABLES, costs).answer(limits={}))
    assert costs.messages > 3
    assert whole["facts"]["bytes"] == costs.size > 0
    for seed in range(4):
        random.Random(seed).shuffle(some)
        total = Costs(CATALOG, BY)
        for part in some:
            total.merge(pickle.loads(pickle.dumps(part)))
        assert answer_document(Overhead(TABLES, total).answer(limits={})) == whole
