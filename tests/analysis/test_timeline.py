"""Statistics over time: intervals, groups, limits, and parts that are merged in any order."""

import itertools
import json
import pickle

import pytest
from kit.commands import ROOT
from kit.logs import document
from kit.views import keyed_answer

import kwire_cli
from kwire_cli.analysis import timeline
from kwire_cli.analysis.dimensions import DIMENSIONS
from kwire_cli.analysis.stats import OTHERS, Stats
from kwire_cli.analysis.timeline import Timeline
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.source.request_log.reading import RequestLog
from kwire_cli.view.answers import answer_document

CATALOG = kwire_cli.catalog()
REBALANCING = ROOT / "samples" / "incidents" / "rebalancing.pcap"
LOG = ROOT / "samples" / "request-logs" / "kafka-request.log"


def lines(path=REBALANCING):
    return traffic(CATALOG, Capture(path))


def timeline_of(subjects, every=2000, kinds=(), **more):
    fold = Timeline(every, kinds, **more)
    for subject in subjects:
        fold.add(subject)
    return fold


def tables(fold):
    return answer_document(fold.answer())["tables"]


def logged(seconds, **more):
    """Return an exchange so many seconds after the epoch."""
    minute, second = divmod(seconds, 60)
    hour, minute = divmod(minute, 60)
    day, hour = divmod(hour, 24)
    time = f"1970-01-{1 + int(day):02}T{int(hour):02}:{int(minute):02}:{second:06.3f}Z"
    return Reader(CATALOG).exchange(document(**more), 1, time)


@pytest.mark.parametrize("kind", DIMENSIONS)
def test_intervals_add_up_to_the_statistics_without_time(kind):
    sums = Stats({kind: {}})
    for line in lines():
        sums.add(line)
    rows = tables(timeline_of(lines(), kinds=(kind,), busiest=100))
    totals = {row["name"]: row for row in rows["overTime"]}
    assert {*totals} == {*sums.groups[kind]}
    for name, group in sums.groups[kind].items():
        parts = [row for row in rows["intervals"] if row["name"] == name]
        assert sum(row["requests"] for row in parts) == group.requests == totals[name]["requests"]
        assert sum(row["responseBytes"] for row in parts) == group.response_bytes
        assert sum(row["errorCount"] for row in parts) == group.errors.total() == totals[name]["errorCount"]
        assert sum(totals[name]["requestsOverTime"]) == group.requests
        assert max(row["latencyMaxSeconds"] or 0 for row in parts) == (group.latency.points()[-1] or 0)


def test_groups_are_those_that_requests_name():
    assert [row["name"] for row in tables(timeline_of(lines(), kinds=("group",)))["overTime"]] == ["payment-workers"]


def test_intervals_begin_at_multiples_of_their_width_and_none_is_missing():
    fold = timeline_of([logged(12.5), logged(19.999), logged(45)], every=10_000)
    assert [(row["start"], row["requests"]) for row in tables(fold)["intervals"]] == [
        ("1970-01-01T00:00:10.000000Z", 2),
        ("1970-01-01T00:00:20.000000Z", 0),
        ("1970-01-01T00:00:30.000000Z", 0),
        ("1970-01-01T00:00:40.000000Z", 1),
    ]
    assert keyed_answer(fold.answer())["everySeconds"] == 10


def test_with_a_dimension_intervals_without_traffic_have_no_row():
    fold = timeline_of([logged(12.5), logged(45)], every=10_000, kinds=("client",))
    rows = tables(fold)
    assert [row["start"][17:19] for row in rows["intervals"]] == ["10", "40"]
    assert rows["overTime"][0]["requestsOverTime"] == [1, 0, 0, 1]


def test_the_busiest_stand_first_and_the_rest_is_together():
    exchanges = [logged(second, client=f"c{number}") for number in range(5) for second in range(number + 1)]
    rows = tables(timeline_of(exchanges, 1000, ("client",), busiest=2))["overTime"]
    assert [(row["name"], row["requests"]) for row in rows] == [("c4", 5), ("c3", 4), (OTHERS, 6)]
    assert rows[2]["requestsOverTime"] == [3, 2, 1, 0, 0]


def test_a_log_has_no_bytes():
    rows = tables(timeline_of(RequestLog(LOG, CATALOG), 1000))
    assert rows["overTime"][0]["bytes"] is rows["overTime"][0]["bytesOverTime"] is None
    assert rows["intervals"][0]["requestBytes"] is None
    assert sum(row["requests"] for row in rows["intervals"]) == 39


def test_subjects_without_a_time_are_counted_apart():
    fold = timeline_of([Reader(CATALOG).exchange(document(), 1, None), logged(1)])
    assert keyed_answer(fold.answer())["withoutTime"] == 1
    assert tables(fold)["overTime"][0]["requests"] == 1


def test_without_any_time_a_note_says_why_there_are_no_intervals():
    answered = answer_document(timeline_of([Reader(CATALOG).exchange(document(), 1, None)]).answer())
    assert answered["tables"]["intervals"] == []
    assert answered["notes"] == ["nothing in this has a time, so there are no intervals; kwire stats counts it"]
    assert answer_document(timeline_of([logged(1)]).answer())["notes"] == []


def test_a_year_of_seconds_is_widened_and_says_so():
    year = 365 * 24 * 3600
    exchanges = [logged(second % (27 * 86400)) for second in range(0, year, 86400 // 2)]
    fold = timeline_of(exchanges, 1000)
    assert len(tables(fold)["intervals"]) <= timeline.MOST_INTERVALS
    assert sum(row["requests"] for row in tables(fold)["intervals"]) == len(exchanges)
    [note] = answer_document(fold.answer())["notes"]
    assert note.startswith("intervals are 256 s wide, not 1 s")


def test_cells_are_bounded(monkeypatch):
    monkeypatch.setattr(timeline, "MOST_CELLS", 50)
    exchanges = [logged(second, client=f"c{second % 7}") for second in range(300)]
    fold = timeline_of(exchanges, 1000, ("client",))
    assert sum(map(len, fold.cells.values())) <= 50
    assert sum(row["requests"] for row in tables(fold)["intervals"]) == 300


def test_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(timeline, "MOST_GROUPS", 3)
    fold = timeline_of([logged(second, client=f"c{second}") for second in range(9)], 1000, ("client",))
    assert {name: len(cells) for (_, name), cells in fold.cells.items()} == {"c0": 1, "c1": 1, "c2": 1, OTHERS: 6}


@pytest.mark.parametrize("limit", [20_000, 40, 3])
def test_parts_merge_in_any_order(monkeypatch, limit):
    monkeypatch.setattr(timeline, "MOST_CELLS", limit)
    everything = [*lines()]
    whole = answer_document(timeline_of(everything, 500, ("client", "api"), busiest=3).answer())
    thirds = [everything[start::3] for start in range(3)]
    for order in itertools.permutations(range(3)):
        parts = [pickle.loads(pickle.dumps(timeline_of(thirds[at], 500, ("client", "api"), busiest=3))) for at in order]
        first, *others = parts
        for other in others:
            first.merge(other)
        assert json.dumps(answer_document(first.answer()), sort_keys=True) == json.dumps(whole, sort_keys=True)


def test_an_empty_part_changes_nothing():
    fold, empty = timeline_of(lines()), Timeline(2000)
    before = answer_document(fold.answer())
    fold.merge(empty)
    empty.merge(fold)
    assert answer_document(fold.answer()) == answer_document(empty.answer()) == before
