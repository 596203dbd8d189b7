"""Runs into a lake that has rows already: of inputs that were given before, of captures that follow them, and of some
that are gone by now.
"""

import json
import shutil
from pathlib import Path

import pytest
from kit.commands import ROOT
from kit.lakes import Rotated, content, rows_of, run

from kwire_cli.lake import delta
from kwire_cli.lake.model import Reading
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.writing import PcapWriter

CAPTURES = ROOT / "samples" / "captures"
SEGMENTS = ROOT / "samples" / "segments"
EVERYTHING = "frames,connections,errors,set_fields,produce_batches,bodies,costs,names,faults"
SAME = "select * exclude (unit, run, capture_point, file, packet, broker) from {}"
"""The columns that do not tell files apart. The node id of a broker may be told after the frames of an earlier run."""


SHOWN = Reading(show_secrets=True)
"""With secrets: else connections on which there may be one are not carried."""


def frames_of(lake):
    return dict(rows_of(lake, "select parse_filename(file), count(*) from frames group by all"))


def cut(path, count, folder):
    """Write the packets of a capture into so many files, and into one that is whole."""
    found = [*packets(path)]
    places = [len(found) * number // count for number in range(count + 1)]
    files = [(folder / f"{number}.pcap", found[places[number] : places[number + 1]]) for number in range(count)]
    whole = folder / "whole.pcap"
    for name, some in (*files, (whole, found)):
        with name.open("wb") as file:
            out = PcapWriter(file.write, found[0].link)
            for packet in some:
                out.add(packet)
    return [name for name, _ in files], whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [("captures/ipv6.pcap", 2), ("captures/midstream.pcap", 3), ("incidents/fetch-sessions.pcap", 4)],
)
def test_captures_that_are_exported_and_removed_one_by_one(tmp_path, name, count):
    """Connections go on where they were: the rows are those of the whole capture, and each file is read once."""
    files, whole = cut(ROOT / "samples" / name, count, tmp_path)
    point, lake = tmp_path / "point", tmp_path / "lake"
    point.mkdir()
    for file in files:
        shutil.move(file, point)
        assert run([point], lake, EVERYTHING, reading=SHOWN).read == 1
        (point / file.name).unlink()
    run([whole], tmp_path / "whole", EVERYTHING, reading=SHOWN)
    tables = {*delta.tables_of(lake)} - {"inputs", "carried", "costs", "names", "faults"}
    assert tables <= {*delta.tables_of(tmp_path / "whole")}
    assert len(tables) > 3
    for table in tables:
        query = SAME.format(table).replace(", broker", ", broker" if table == "frames" else "")
        assert sorted(map(repr, rows_of(lake, query))) == sorted(map(repr, rows_of(tmp_path / "whole", query))), table
    costs = "select api, path, sum(prefix_bytes), sum(value_bytes) from costs group by all order by all"
    assert rows_of(lake, costs) == rows_of(tmp_path / "whole", costs)


@pytest.mark.slow
def test_keys_do_not_repeat_when_captures_are_replaced(tmp_path):
    """Another capture under the name of one that was removed: joins give each frame once, and connections differ."""
    point, lake = tmp_path / "point", tmp_path / "lake"
    point.mkdir()
    for name in ("midstream.pcap", "ipv6.pcap"):
        shutil.copy(CAPTURES / name, point / name)
        run([point], lake, EVERYTHING)
        (point / name).unlink()
    joined = "select count(*) from bodies_fetch_response b join frames f using (capture_point, connection, frame)"
    assert rows_of(lake, joined) == rows_of(lake, "select count(*) from bodies_fetch_response")
    twice = "select connection, frame from frames group by all having count(*) > 1"
    assert rows_of(lake, twice) == []
    requests = """
        select count(*) from frames r where r.request_frame is not null and (
            select count(*) from frames q where q.connection = r.connection and q.frame = r.request_frame
        ) <> 1
    """
    assert rows_of(lake, requests) == [(0,)]


def test_a_late_capture_is_read_alone_and_marked(tmp_path):
    files, _ = cut(CAPTURES / "ipv6.pcap", 3, tmp_path)
    point, lake = tmp_path / "point", tmp_path / "lake"
    point.mkdir()
    for file in (files[0], files[2]):
        shutil.move(file, point)
        run([point], lake, "frames,faults")
    before = rows_of(lake, "select * from frames order by all")
    shutil.move(files[1], point)
    assert run([point], lake, "frames,faults").read == 1
    assert rows_of(lake, "select code, parse_filename(file) from faults where code = 'LATE_FILE'") == [
        ("LATE_FILE", "1.pcap")
    ]
    rows = rows_of(lake, "select * from frames order by all")
    assert [row for row in rows if row in before] == before
    assert len(rows) > len(before)
    assert run([point], lake, "frames,faults").read == 0


def test_a_capture_that_grew_is_read_with_its_point(tmp_path):
    path, lake = tmp_path / "in" / "grows.pcap", tmp_path / "lake"
    path.parent.mkdir()
    data = (CAPTURES / "ipv6.pcap").read_bytes()
    for size in (40_000, len(data)):
        path.write_bytes(data[:size])
        assert run([path.parent], lake, "frames,faults").read == 1
    assert rows_of(lake, "select count(*), (select count(*) from faults) from frames") == [(148, 0)]
    run([path.parent], tmp_path / "whole", "frames,faults")
    assert content(lake) == content(tmp_path / "whole")


@pytest.mark.slow
def test_a_second_run_reads_what_is_new(tmp_path):
    inputs, lake = tmp_path / "in", tmp_path / "lake"
    shutil.copytree(SEGMENTS / "orders-zstd-0", inputs / "orders-0")
    for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap"):
        shutil.copy(CAPTURES / name, inputs)
    assert run([inputs], lake).read > 2
    before = content(lake)
    versions = sorted((lake / "frames" / "_delta_log").glob("*.json"))
    assert (done := run([inputs], lake)).read == 0
    assert done.known > 2
    assert content(lake) == before
    assert sorted((lake / "frames" / "_delta_log").glob("*.json")) == versions  # nothing new, no commit
    (inputs / "more").mkdir()
    shutil.copy(CAPTURES / "sarama-0.8.2.0-3.9.2.pcapng", inputs / "more")
    assert run([inputs], lake).read == 1
    run([inputs], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")
    assert run([inputs], lake, again=True).read > 3
    assert content(lake) == content(tmp_path / "whole")


def test_a_changed_log_is_replaced(tmp_path):
    inputs, lake = tmp_path / "in" / "orders-0", tmp_path / "lake"
    shutil.copytree(SEGMENTS / "orders-zstd-0", inputs)
    (log,) = inputs.glob("*.log")
    run([inputs], lake)
    (before,) = rows_of(lake, "select count(*) from batches")
    log.write_bytes(log.read_bytes() * 2)
    assert run([inputs], lake).read == 1
    assert rows_of(lake, "select count(*) from batches") == [(2 * before[0],)]
    run([inputs], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")


@pytest.mark.slow
def test_a_changed_capture_is_read_again_with_its_point(tmp_path):
    """As long as all captures of the point are there; else it is read alone."""
    point, lake = tmp_path / "point", tmp_path / "lake"
    point.mkdir()
    files, _ = cut(CAPTURES / "ipv6.pcap", 3, tmp_path)
    for file in files:
        shutil.move(file, point)
    run([point], lake, EVERYTHING)
    (point / "1.pcap").write_bytes((point / "1.pcap").read_bytes()[:-40])
    assert run([point], lake, EVERYTHING).read == 3
    run([point], tmp_path / "whole", EVERYTHING)
    assert content(lake) == content(tmp_path / "whole")
    (point / "0.pcap").unlink()
    (point / "1.pcap").write_bytes((point / "1.pcap").read_bytes()[:-400])
    assert run([point], lake, EVERYTHING).read == 1
    assert rows_of(lake, "select parse_filename(file) from faults where code = 'LATE_FILE'") == [("1.pcap",)]
    assert {*frames_of(lake)} == {"0.pcap", "1.pcap", "2.pcap"}


@pytest.mark.slow
def test_tables_that_were_not_asked_for_before_are_added(tmp_path):
    point, lake = tmp_path / "point", tmp_path / "lake"
    point.mkdir()
    shutil.copy(CAPTURES / "ipv6.pcap", point)
    inputs = [point, SEGMENTS / "orders-zstd-0"]
    assert run(inputs, lake, tables="names,records").read == 2
    assert run(inputs, lake, tables="records").read == 0
    assert run(inputs, lake, tables="frames,batches").read == 2
    assert run(inputs, lake, tables="all").read == 2
    run(inputs, tmp_path / "whole", tables="all")
    assert content(lake) == content(tmp_path / "whole")
    assert run(inputs, lake, tables="bodies").read == 0


def test_two_folders_with_the_same_addresses_give_both(tmp_path):
    """A connection that is seen at two capture points has one key."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(CAPTURES / "ipv6.pcap", tmp_path / name)
    run([tmp_path / "one", tmp_path / "two"], tmp_path / "lake")
    counts = rows_of(tmp_path / "lake", "select capture_point, count(*) from frames group by all")
    assert [count for _, count in counts] == [148, 148]
    keys = "select count(distinct connection), count(distinct (capture_point, connection)) from frames"
    ((one, both),) = rows_of(tmp_path / "lake", keys)
    assert both == 2 * one


def test_files_that_hold_the_same_are_points_of_their_own(tmp_path):
    inputs, lake = tmp_path / "in", tmp_path / "lake"
    inputs.mkdir()
    shutil.copy(CAPTURES / "ipv6.pcap", inputs)
    shutil.copy(CAPTURES / "ipv6.pcap", inputs / "again.pcap")
    run([inputs], lake)
    assert rows_of(lake, "select count(distinct capture_point), count(*) from frames") == [(2, 296)]
    assert rows_of(lake, "select distinct code from faults") == [("OVERLAPPING_FILES",)]


def test_what_is_carried_is_json_of_few_bytes(tmp_path):
    """No pickles are in a lake, and a run that goes on reads what it needs."""
    files = Rotated(CAPTURES / "ipv6.pcap", 2).files
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.pcap").write_bytes(files[0])
    run([tmp_path / "in"], tmp_path / "lake", "frames")
    states = [json.loads(state) for (state,) in rows_of(tmp_path / "lake", "select state from carried")]
    assert states
    assert all({"last", "latest"} <= state.keys() for state in states)
    assert {Path(path).name for (path,) in rows_of(tmp_path / "lake", "select path from inputs where kind <> 'point'")}
