"""Statistics over time: intervals, groups, limits, and intervals that are taken out while traffic comes."""

from datetime import datetime

import pytest
from kit.commands import ROOT
from kit.logs import document
from kit.views import keyed_answer

import kwire_cli
from kwire_cli.analysis import timeline
from kwire_cli.analysis.stats import DIMENSIONS, Stats
from kwire_cli.analysis.timeline import END, Timeline
from kwire_cli.answer import Answer
from kwire_cli.message.redaction import Redaction
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
    found = Timeline(Redaction(CATALOG), every, kinds, **more)
    for subject in subjects:
        found.add(subject)
    return found


def document_of(*given, **more):
    return answer_document(timeline_of(*given, **more).answer())


def tables(*given, **more):
    return document_of(*given, **more)["tables"]


def logged(seconds, **more):
    """Return an exchange so many seconds after the epoch."""
    minute, second = divmod(seconds, 60)
    hour, minute = divmod(minute, 60)
    day, hour = divmod(hour, 24)
    time = f"1970-01-{1 + int(day):02}T{int(hour):02}:{int(minute):02}:{second:06.3f}Z"
    return Reader(CATALOG).exchange(document(**more), 1, time)


@pytest.fixture(scope="module")
def by_each():
    """The statistics of a capture by each dimension, and the tables of its intervals."""
    sums = Stats(Redaction(CATALOG), DIMENSIONS)
    for line in lines():
        sums.add(line)
    return keyed_answer(sums.answer()), tables(lines(), kinds=DIMENSIONS, busiest=100)


@pytest.mark.parametrize("kind", DIMENSIONS)
def test_intervals_add_up_to_the_statistics_without_time(kind, by_each):
    groups, rows = by_each[0][kind], by_each[1]
    totals = {row["name"]: row for row in rows["overTime"] if row["by"] == kind}
    assert {*totals} == {*groups}
    for name, group in groups.items():
        parts = [row for row in rows["intervals"] if (row["by"], row["name"]) == (kind, name)]
        assert sum(row["requests"] for row in parts) == group["requests"] == totals[name]["requests"]
        assert sum(row["responseBytes"] for row in parts) == group["responseBytes"]
        errors = sum(group["errors"].values())
        assert sum(row["errorCount"] for row in parts) == errors == totals[name]["errorCount"]
        assert sum(totals[name]["requestsOverTime"]) == group["requests"]
        assert max(row["latencyMaxSeconds"] or 0 for row in parts) == (group["latencyMaxSeconds"] or 0)
        assert totals[name]["latencyP99Seconds"] == group["latencyP99Seconds"]


def test_groups_are_those_that_requests_name():
    assert [row["name"] for row in tables(lines(), kinds=("group",))["overTime"]] == ["payment-workers"]


def test_intervals_begin_at_multiples_of_their_width_and_none_is_missing():
    document = document_of([logged(12.5), logged(19.999), logged(45)], every=10_000)
    assert [(row["start"], row["requests"]) for row in document["tables"]["intervals"]] == [
        ("1970-01-01T00:00:10.000000Z", 2),
        ("1970-01-01T00:00:20.000000Z", 0),
        ("1970-01-01T00:00:30.000000Z", 0),
        ("1970-01-01T00:00:40.000000Z", 1),
    ]
    assert document["facts"]["everySeconds"] == 10


def test_with_a_dimension_intervals_without_traffic_have_no_row():
    rows = tables([logged(12.5), logged(45)], every=10_000, kinds=("client",))
    assert [row["start"][17:19] for row in rows["intervals"]] == ["10", "40"]
    assert rows["overTime"][0]["requestsOverTime"] == [1, 0, 0, 1]


def test_the_busiest_stand_first_and_the_rest_is_together():
    exchanges = [logged(second, client=f"c{number}") for number in range(5) for second in range(number + 1)]
    rows = tables(exchanges, 1000, ("client",), busiest=2)["overTime"]
    assert [(row["name"], row["requests"]) for row in rows] == [("c4", 5), ("c3", 4), ("(others)", 6)]
    assert rows[2]["requestsOverTime"] == [3, 2, 1, 0, 0]


def test_a_log_has_no_bytes():
    rows = tables(RequestLog(LOG, CATALOG), 1000)
    assert rows["overTime"][0]["bytes"] is rows["overTime"][0]["bytesOverTime"] is None
    assert {row["requestBytes"] for row in rows["intervals"]} == {None}
    assert sum(row["requests"] for row in rows["intervals"]) == 39


def test_messages_without_a_time_are_counted_apart():
    answered = document_of([Reader(CATALOG).exchange(document(), 1, None), logged(1)])
    assert answered["facts"]["withoutTime"] == 2
    assert answered["tables"]["overTime"][0]["requests"] == 1


def test_without_any_time_a_note_says_why_there_are_no_intervals():
    answered = document_of([Reader(CATALOG).exchange(document(), 1, None)])
    assert answered["tables"]["intervals"] == []
    assert answered["notes"] == ["nothing in this has a time, so there are no intervals; kwire stats counts it"]
    assert document_of([logged(1)])["notes"] == []


def test_a_line_of_a_log_counts_in_the_interval_of_its_time():
    """Its clock may have whole seconds alone, and say nothing of the time at which the broker had the request."""
    rows = tables([logged(20, totalTimeMs=15_000)], every=10_000)["intervals"]
    assert [(row["start"][17:19], row["requests"], row["responses"]) for row in rows] == [("20", 1, 1)]


def test_a_year_of_seconds_is_widened_and_says_so():
    year = 365 * 24 * 3600
    exchanges = [logged(second % (27 * 86400)) for second in range(0, year, 86400 // 2)]
    answered = document_of(exchanges, 1000)
    assert len(answered["tables"]["intervals"]) <= timeline.MOST_INTERVALS
    assert sum(row["requests"] for row in answered["tables"]["intervals"]) == len(exchanges)
    [note] = answered["notes"]
    assert note.startswith("intervals are 256 s wide, not 1 s")


def test_intervals_that_are_over_are_taken_out_while_traffic_comes():
    everything = sorted(lines(), key=lambda line: line.seen.time)
    whole = tables(everything, 2000, ("client",))["intervals"]
    live = Timeline(Redaction(CATALOG), 2000, ("client",))
    taken = []
    for number, line in enumerate(everything, 1):
        live.add(line)
        if number % 50 == 0:
            until = line.seen.time // 2_000_000_000 * 2
            taken.append(live.take(datetime.fromtimestamp(until, END.tzinfo)))
    taken.append(live.take(END))
    live.close()
    parts = [row for table in taken for row in answer_document(Answer("", [table]))["tables"]["intervals"]]
    key = lambda row: (row["start"], row["name"])  # noqa: E731
    assert sorted(parts, key=key) == sorted(whole, key=key)
    assert len(taken) > 3


def test_each_interval_that_is_taken_out_has_its_own_busiest_groups():
    exchanges = [logged(second, client=name) for second, name in ((1, "a"), (11, "b"), (12, "b"))]
    live = Timeline(Redaction(CATALOG), 10_000, ("client",), busiest=1)
    for exchange in exchanges:
        live.add(exchange)
    table = live.take(END)
    live.close()
    rows = answer_document(Answer("", [table]))["tables"]["intervals"]
    assert [(row["name"], row["requests"]) for row in rows] == [("a", 1), ("b", 2)]
    assert [row["name"] for row in tables(exchanges, 10_000, ("client",), busiest=1)["intervals"]] == ["b", "(others)"]
