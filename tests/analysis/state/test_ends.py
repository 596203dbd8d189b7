"""Ends of logs: those of real folders, by whatever files lead to them, and of damaged and hostile ones."""

import pytest
from hypothesis import given, strategies as st
from kit.commands import ROOT, examples

from kwire_cli.analysis.state.lag import ends_of
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition, walk

SAMPLES = ROOT / "samples"
REAL = ROOT.parent / "shared" / "real" / "own" / "segments"
HANGING = SAMPLES / "incidents" / "hanging-transaction" / "payments-0"
LOG = f"{0:020}.log"


def ends_in(folder, **known):
    return ends_of(partition(folder), **known)


def end_by_all_batches(folder):
    """The end of a log by the batches of all of its segments, with their checksums."""
    part = partition(folder)
    logs = [file for file in part.files if str(file.kind) == "log" and not file.name.suffix]
    last = logs[-1].name.base_offset - 1
    for file in logs:
        for item in items(source_of(file.path)):
            if isinstance(item, Batch) and item.crc_valid:
                last = item.head.last_offset
    return last + 1


def high_watermarks(folder):
    return {
        f"{entry.topic}-{entry.partition}": entry.offset
        for entry in read_log_file(folder / "replication-offset-checkpoint").entries
    }


def test_ends_are_those_that_the_broker_wrote_down_when_it_stopped():
    known = high_watermarks(SAMPLES / "logs")
    ends = {path.name: ends_in(path) for path in (SAMPLES / "logs").iterdir() if path.name in known}
    assert {name: log.end for name, log in ends.items()} == {
        name: known[name] for name in ("compacted-txn-0", "trimmed-0", "txn-out-1")
    }
    assert ends["trimmed-0"].start == 20
    assert ends_in(SAMPLES / "logs" / "trimmed-0", start=25).start == 25


@pytest.mark.shared
@pytest.mark.parametrize("name", ["k44-clean", "k28-zk", "k44-clients"])
def test_ends_of_real_log_directories(name):
    known = high_watermarks(REAL / name)
    for part in walk(REAL / name).partitions:
        if part.name.topic == "__cluster_metadata":
            continue
        ends = ends_of(part)
        assert ends.end == known[part.path.name] == end_by_all_batches(part.path), part.path


def test_an_empty_last_segment_and_zeros_behind_batches(folder):
    folder.put(0, "log", folder.batch(0, 3)).put(3, "log", b"")
    assert ends_in(folder.path).end == 3
    folder.put(3, "log", folder.batch(3, 2), bytes(4096)).put(3, "index", bytes(1 << 16))
    assert ends_in(folder.path).end == 5


def test_an_index_leads_to_the_last_batches_and_never_astray(folder):
    batches = [folder.batch(number * 2, 2) for number in range(200)]
    size = len(batches[0])
    folder.put(0, "log", *batches)
    folder.offsets(0, *((number * 2 + 1, number * size) for number in range(10, 200, 10)))
    assert ends_in(folder.path).end == 400
    for wrong in ((399, size + 1), (399, size * 500), (1 << 30, size * 3), (-5, size)):
        folder.offsets(0, wrong)
        assert ends_in(folder.path).end == 400


def test_a_folder_without_a_segment_has_no_ends(tmp_path):
    assert ends_in(tmp_path) is None
    (tmp_path / f"{0:020}.log.deleted").write_bytes(b"")
    assert ends_in(tmp_path) is None


@examples(40)
@given(data=st.data())
def test_whatever_the_files_hold_there_are_ends(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("t")
    log = bytearray((HANGING / LOG).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))
    (folder / f"{data.draw(st.sampled_from([0, 5, 1 << 62])):020}.log").write_bytes(bytes(log))
    base = data.draw(st.sampled_from([0, 5, 9, 1 << 62]))
    (folder / f"{base:020}.index").write_bytes(data.draw(st.binary(max_size=80)))
    ends = ends_in(folder)
    assert ends.start <= ends.end
