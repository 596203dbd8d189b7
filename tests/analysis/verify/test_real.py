"""Folders that brokers left: clean as they are, and with damage done to a copy."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kwire_cli import verify
from kwire_cli.analysis.verify import parts_of, verification, verify_each, verify_part
from kwire_cli.errors import InputError
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import walk
from kwire_cli.source.logs.model import Kind
from kwire_cli.view.answers import answer_document

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "samples" / "logs"
REAL = ROOT.parent / "shared" / "real"
LOG, LATER = f"{0:020}.log", f"{30:020}.log"

TORN = {
    # what its README says was done, and where the log then has it
    "bitflip-0": ("CRC_MISMATCH", 2998, 41),  # a bit of the CRC itself
    "cut-0": ("TRUNCATED", 28404, 404),
    "cutheader-0": ("TRUNCATED", 7940, 109),
    "garbage-0": ("CORRUPT", 7940, 109),
}


def faults_of(path, *, deep=False):
    return verify(path, deep=deep)["faults"].to_dicts()


def answer_about(path, counts):
    return verification([str(path)], verify_each(parts_of([path])), counts)


def test_the_answer_counts_faults_while_they_are_read():
    counts = Counter()
    answer = answer_about(ROOT / "samples" / "segments" / "garbage-0", counts)
    assert not counts
    document = answer_document(answer)
    [row] = document["tables"]["faults"]
    assert (row["fault"], row["position"], row["offset"]) == TORN["garbage-0"]
    assert document["facts"] == {"files": 1, "batches": 82, "faults": 1}


@pytest.mark.parametrize(("files", "reason"), [({}, "no segment"), ({LOG: b""}, "0 batches in 1 file")])
def test_the_answer_is_an_error_where_nothing_could_be_verified(tmp_path, files, reason):
    (tmp_path / "t-0").mkdir()
    for name, data in files.items():
        (tmp_path / "t-0" / name).write_bytes(data)
    with pytest.raises(InputError, match=reason):
        answer_document(answer_about(tmp_path, Counter()))


@pytest.mark.shared
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("name", ["k28-zk", "k44-clean", "k44-clients", "k44-kraft-c1"])
def test_what_brokers_leave_is_clean(name, deep):
    assert faults_of(REAL / "own" / "segments" / name, deep=deep) == []


@pytest.mark.shared
@pytest.mark.parametrize(("name", "fault"), TORN.items())
def test_what_is_torn_is_named(name, fault):
    path = REAL / "own" / "segments" / "synthetic-torn" / name
    (found,) = verify_part(path)
    assert (found.code, found.position, found.offset) == fault
    assert found.file == str(path / LOG)


@pytest.mark.shared
def test_what_others_made_is_clean(tmp_path):
    for file in sorted((REAL / "segments").rglob("*-*__*")):
        partition, _, name = file.name.rpartition("__")
        folder = tmp_path / file.parent.name / partition
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)
    found = [walk(folder) for folder in tmp_path.iterdir()]
    assert sum(len(each.partitions) for each in found) == 10
    assert [fault for each in found for fault in faults_of(each.path)] == []


def positions(path):
    return [item.position for item in items(source_of(path.read_bytes()))]


def edit(path, change):
    path.write_bytes(change(path.read_bytes()))


def cut_out(path, n):
    data, at = path.read_bytes(), [*positions(path), path.stat().st_size]
    path.write_bytes(data[: at[n]] + data[at[n + 1] :])


def header(path, n, make, **changes):
    """The nth batch with other numbers in its header and a CRC that fits; a function makes a number from what was
    there.
    """
    data, at = path.read_bytes(), [*positions(path), path.stat().st_size]
    path.write_bytes(data[: at[n]] + make(data[at[n] : at[n + 1]], **changes) + data[at[n + 1] :])


def control(path, n, make):
    """The nth batch's marker turned around: abort for commit, commit for abort."""
    data, at = bytearray(path.read_bytes()), positions(path)
    place = data.index(b"\x08\0\0\0", at[n]) + 4  # a key of 4 bytes: version 0, then the type
    data[place] ^= 1
    path.write_bytes(data)
    header(path, n, make)


# txn-out-1, one segment: 8 batches, each second one a marker; compacted-txn-0, two: 6 batches with holes between, then
# 2; trimmed-0: one batch each.
DAMAGE = {
    "the end cut off": (
        "txn-out-1",
        lambda p, _: edit(p / LOG, lambda d: d[:-5]),
        {"TRUNCATED", "SNAPSHOT_BEYOND_LOG"},
    ),
    "garbage in the middle": (
        "compacted-txn-0",
        lambda p, _: edit(p / LOG, lambda d: d[:81] + b"garbage!" + d[81:]),
        {"CORRUPT", "INDEX_POSITION"},
    ),
    "a segment under another name": (
        "compacted-txn-0",
        lambda p, _: (p / LATER).rename(p / f"{29:020}.log"),
        {"ORPHANED_FILE", "OFFSET_OUT_OF_SEGMENT", "ABORTED_NOT_INDEXED"},
    ),
    "a segment lost": ("compacted-txn-0", lambda p, _: (p / LATER).unlink(), {"ORPHANED_FILE", "SNAPSHOT_BEYOND_LOG"}),
    "a commit for an abort": ("compacted-txn-0", lambda p, make: control(p / LATER, 1, make), {"ABORTED_NOT_IN_LOG"}),
    "a bit of a producer snapshot": (
        "compacted-txn-0",
        lambda p, _: edit(p / f"{36:020}.snapshot", lambda d: d[:-1] + b"\0"),
        {"CRC_MISMATCH"},
    ),
    "a producer snapshot of another time": (
        "compacted-txn-0",
        lambda p, _: shutil.copyfile(p / f"{30:020}.snapshot", p / f"{36:020}.snapshot"),
        {"SNAPSHOT_PRODUCER"},
    ),
    "offsets of the metadata log": (
        "__cluster_metadata-0",
        lambda p, _: cut_out(p / f"{327:020}.log", 3),
        {"OFFSET_GAP"},
    ),
}


@pytest.mark.parametrize(("name", "damage", "found"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named(tmp_path, folder_at, name, damage, found):
    copy = shutil.copytree(SAMPLES / name, tmp_path / name)
    damage(copy, folder_at.with_header)
    faults = list(verify_part(copy))
    assert {fault.code for fault in faults} == found
    assert all(Path(fault.file).parent == copy for fault in faults)


def test_indexes_that_are_gone_are_no_fault(tmp_path):
    for partition in walk(SAMPLES).partitions:
        copy = shutil.copytree(partition.path, tmp_path / partition.path.name)
        for kind in (Kind.INDEX, Kind.TIME_INDEX, Kind.PRODUCER_SNAPSHOT):
            for path in copy.glob(f"*.{kind}"):
                path.unlink()
        assert list(verify_part(copy)) == []


FILES = sorted(
    file.path
    for file in walk(SAMPLES)
    if file.kind is not Kind.OTHER and not file.name.suffix and file.path.parent != SAMPLES
)


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    return shutil.copytree(SAMPLES, tmp_path_factory.mktemp("logs") / "logs")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=st.sampled_from([path for path in FILES if path.suffix == ".log"]),
    place=st.integers(0, 1 << 20),
    bit=st.integers(0, 7),
)
def test_a_bit_that_a_checksum_covers_is_never_missed(copies, file, place, bit):
    data = bytearray(file.read_bytes())
    place %= len(data)
    begin = max(at for at in positions(file) if at <= place)
    if place - begin < 17:  # base offset, length, leader epoch and magic are not covered
        return
    data[place] ^= 1 << bit
    path = copies / file.relative_to(SAMPLES)
    path.write_bytes(data)
    try:
        assert any(fault.file == str(path) for fault in verify_part(path.parent))
    finally:
        path.write_bytes(file.read_bytes())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=st.sampled_from(FILES), data=st.data())
def test_any_bytes_in_any_file_raise_nothing(copies, file, data):
    whole = file.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path = copies / file.relative_to(SAMPLES)
    path.write_bytes(whole[:cut] + data.draw(st.binary(max_size=80)) + whole[cut + data.draw(st.integers(0, 80)) :])
    try:
        for fault in verify_part(path.parent, deep=data.draw(st.booleans())):
            assert fault.code
    finally:
        path.write_bytes(whole)
