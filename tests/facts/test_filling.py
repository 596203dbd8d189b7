"""Tables of a capture are the same whether its frames are read one by one or many at a time."""

import random
import shutil
from collections import defaultdict

import pytest
from kit.calls import SAMPLES as FOLDER
from kit.captures import capture_of_all
from kit.messages import exchanges

from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.columnar.filling import Filling, fill
from kwire_cli.facts.columnar.frames import MANY_AT_A_TIME
from kwire_cli.facts.memory import Tables
from kwire_cli.message.encode import encode_document
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kafka import bulk_frames
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Caller, Reading
from kwire_cli.spec.catalog import catalog

CAPTURES, INCIDENTS = FOLDER / "captures", FOLDER / "incidents"
SAMPLES = [
    *(CAPTURES / name for name in ("midstream.pcap", "kafka-python-4.4.0.pcapng")),
    *(INCIDENTS / name for name in ("rolling-restart.pcapng.gz", "rebalancing.pcap")),
]
BODIES = [
    table_of(api.name, kind)
    for api in catalog().apis
    for kind, message in (("request", api.request), ("response", api.response))
    if message is not None
]
TABLES = ["frames", "connections", "batches", "errors", "set_fields", *BODIES]
APIS = ("ApiVersions", "CreateTopics", "FindCoordinator", "Heartbeat", "JoinGroup", "Metadata", "Fetch", "OffsetCommit",
        "OffsetFetch", "Produce", "SyncGroup", "ListOffsets")  # fmt: skip
FEW = [*TABLES[:5], *(table_of(api, kind) for api in APIS for kind in ("request", "response"))]
"""The tables that the samples fill: those of all bodies take most of the time."""


HEAD, PACKET_HEAD = 24, 16
"""Bytes of the header of a pcap file, and of that of a packet."""


class Noted(Caller):
    """A caller that keeps what it is told."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def opened(paths, caller=None, **how):
    return open_inputs([str(path) for path in paths], Reading(catalog=catalog(), connections=True, **how), caller)


def tables(names):
    return Tables(Redaction(catalog()), [f"select * from {table}" for table in names])


def one_by_one(*paths, names=FEW):
    filled, caller = tables(names), Noted()
    for each in opened(paths, caller):
        for subject in each.subjects():
            filled.add(subject)
    filled.finish()
    return filled, caller.notes


def many_at_a_time(*paths, names=FEW):
    filled, caller = tables(names), Noted()
    for each in opened(paths, caller):
        assert fill(filled, each)
    filled.finish()
    return filled, caller.notes


def rows_of(filled, table):
    rows = filled.rows(f"select * from {table}")
    return sorted(({name: value for name, value in row.items() if name != "ordinal"} for row in rows), key=repr)


def assert_same(*paths, names=FEW):
    exact, notes = one_by_one(*paths, names=names)
    fast, fast_notes = many_at_a_time(*paths, names=names)
    assert fast_notes == notes
    seen = set()
    for table in names:
        rows = rows_of(exact, table)
        assert rows_of(fast, table) == rows, table
        if rows:
            seen.add(table)
    exact.close()
    fast.close()
    return seen


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_rows_are_the_same(path):
    assert {"frames", "connections"} <= assert_same(path)


@pytest.mark.slow
def test_rows_of_every_message_are_the_same(tmp_path, monkeypatch):
    """Each version of each api many times on a connection of its own, so that frames come in stretches.

    Messages that hold other messages never do.
    """
    by_api = defaultdict(list)
    for document in exchanges(random.Random(5)):
        if "sessionId" in document["body"]:
            document["body"]["sessionId"] = 0  # the topics of a session that never began are known nowhere
        frame = encode_document(catalog(), document)
        by_api[document["api"]].append((0 if document["kind"] == "request" else 1, frame))
    said = [frames * (-(-40 // len(frames))) for frames in by_api.values()]
    path = tmp_path / "all.pcap"
    path.write_bytes(capture_of_all(said))
    monkeypatch.setattr(bulk_frames, "FEWEST", 8)
    monkeypatch.setattr(bulk_frames, "_STEP", 8)
    in_stretches = set()
    take = Filling._stretch

    def stretch(filling, found):
        in_stretches.update(frames.layout.api for frames in found.frames)
        take(filling, found)

    monkeypatch.setattr(Filling, "_stretch", stretch)
    assert len(assert_same(path, names=TABLES)) > 100
    assert {"Fetch", "CreateTopics", "DescribeConfigs", "FetchSnapshot"} <= in_stretches


def test_columns_without_code_for_many_frames_are_read_from_lines(monkeypatch):
    """A new column needs one entry: lines give the same values as functions over many frames."""
    for name in MANY_AT_A_TIME.copy():
        if name != "capture_point":
            monkeypatch.delitem(MANY_AT_A_TIME, name)
    for path in SAMPLES[:2]:
        assert "batches" in assert_same(path)


def test_rows_that_wait_in_files_are_the_same(monkeypatch):
    monkeypatch.setattr("kwire_cli.facts.columnar.spool.SPOOLED", 4096)
    monkeypatch.setattr("kwire_cli.facts.columnar.filling.AT_ONCE", 7)
    monkeypatch.setattr("kwire_cli.facts.columnar.filling.INSERTED", 16)
    seen = assert_same(CAPTURES / "ipv6.pcap")
    assert {"batches", "bodies_fetch_response"} <= seen


def test_several_files(tmp_path):
    """The files of two capture points, one of which is cut.

    All tables of bodies are there: also those of messages without fields, of which DuckDB makes no column.
    """
    whole, cut = tmp_path / "whole.pcap", tmp_path / "cut.pcap"
    shutil.copy(CAPTURES / "ipv6.pcap", whole)
    cut.write_bytes((CAPTURES / "midstream.pcap").read_bytes()[:20_001])
    assert_same(whole, cut, names=TABLES)
    assert any("ends in the middle" in note for note in many_at_a_time(whole, cut)[1])


def test_files_that_follow_each_other(tmp_path):
    """A capture that its program wrote into three files, between which connections go on."""
    data = (CAPTURES / "midstream.pcap").read_bytes()
    starts, at = [], HEAD
    while at < len(data):
        starts.append(at)
        at += PACKET_HEAD + int.from_bytes(data[at + 8 : at + 12], "little")
    third = len(starts) // 3
    bounds = [starts[0], starts[third], starts[2 * third], len(data)]
    paths = [tmp_path / f"broker_{number:05d}.pcap" for number in range(3)]
    for path, start, stop in zip(paths, bounds, bounds[1:], strict=False):
        path.write_bytes(data[:HEAD] + data[start:stop])
    assert len([*opened(paths)]) == 1
    assert_same(*paths)


def test_ordinals_are_those_of_frames_in_their_order():
    filled, _ = many_at_a_time(CAPTURES / "midstream.pcap", CAPTURES / "ipv6.pcap")
    rows = filled.rows("select ordinal, capture_point, frame from frames order by ordinal")
    filled.close()
    assert [(row["capture_point"], row["frame"]) for row in rows] == sorted(
        ((row["capture_point"], row["frame"]) for row in rows),
        key=lambda row: (row[0] != rows[0]["capture_point"], row[1]),
    )


@pytest.mark.parametrize("name", ["tls/broker.pcapng", "incidents/untrusted.pcap"])
def test_what_is_read_packet_by_packet_is_left_alone(name):
    """TLS, with its secrets in the file and without."""
    filled = tables(FEW)
    (each,) = opened([FOLDER / name])
    assert fill(filled, each) == 0
    filled.finish()
    assert not filled.rows("select * from frames")
    filled.close()
