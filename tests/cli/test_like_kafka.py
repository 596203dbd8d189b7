"""`kwire dump --like-kafka`, line by line against what DumpLogSegments printed of the same files."""

import re
import shutil
import struct
from pathlib import Path

import pytest
from command_line import ROOT, kwire
from early_layouts import body_of
from examples import examples
from hypothesis import given, strategies as st
from record_sets import SEGMENTS, batch, message, record, segments, wrapper
from state_records import keyed

REAL = ROOT.parent / "shared" / "real" / "own" / "segments"
DUMPS = sorted(REAL.rglob("*.dump.txt")) if REAL.is_dir() else []
CLUSTERS = ("k44-clean", "k44-clients", "k44-kraft-c1", "synthetic-torn")
LOG = f"{0:020}.log"
STDERR = re.compile(r"(?:Mismatches|Found timestamp|Found out of|The following indexed|Non-consecutive)")
HEADING = re.compile(
    r"(?:Dumping|Log starting offset:|Snapshot end offset:|KRaft bootstrap|baseOffset:|offset:|Found \d+ invalid)"
)
DECODED_IN_28 = ("__consumer_offsets", "__transaction_state")


def files(*clusters):
    return [path for path in DUMPS if path.relative_to(REAL).parts[0] in clusters]


def name(path):
    return str(path.relative_to(REAL)).removesuffix(".dump.txt")


def printed(path, *options):
    """What kwire prints of the file that a dump is of: standard output and standard error, without the folders before
    the cluster's.
    """
    done = kwire("dump", "--like-kafka", "--show-secrets", *options, str(path).removesuffix(".dump.txt"))
    assert done.code == 0
    return tuple(text.replace(f"{REAL}/", "").splitlines() for text in (done.out, done.err))


def expected(path):
    """The lines of a dump, those of standard error apart."""
    lines = path.read_text("utf-8").splitlines()
    at = next((i for i, line in enumerate(lines) if STDERR.match(line)), len(lines))
    return lines[:at], lines[at:]


@pytest.mark.shared
@pytest.mark.parametrize("path", files(*CLUSTERS), ids=name)
def test_lines_are_kafka_s(path):
    assert printed(path, "--deep") == expected(path)


@pytest.mark.shared
@pytest.mark.parametrize(
    "path",
    [path for path in files(*CLUSTERS) if path.name.endswith((".log.dump.txt", ".checkpoint.dump.txt"))],
    ids=name,
)
def test_lines_without_records_are_kafka_s(path):
    out, _ = expected(path)
    assert printed(path) == ([line for line in out if HEADING.match(line)], [])


@pytest.mark.shared
@pytest.mark.parametrize("path", files("k28-zk"), ids=name)
def test_lines_of_an_older_kafka_say_the_same(path):
    """DumpLogSegments 2.8 prints other lines, which have all that those of 4.4 say but what its own topics hold."""
    own = path.parent.name.startswith(DECODED_IN_28)
    out, err = expected(path)
    shown, said = printed(path, "--deep")
    if own:
        shown = [line.partition(" key: ")[0] for line in shown]
    if said and said[0].startswith("Non-consecutive") and said[1].startswith("  -1 is followed by"):
        said = said[2:]  # 2.8 takes any offset for the first
    assert (shown, said) == ([as_now(line, own=own) for line in out], err)


BATCH_28 = re.compile(r"(isTransactional: \S+ isControl: \S+)( position: .* compresscodec: )(\w+)( crc: .*)")
MESSAGE_28 = re.compile(r"(offset: .* compresscodec: )(\w+)( crc: .*)")
RECORD_28 = re.compile(
    r"\| (?P<offset>offset: \d+) (?P<crc>isValid: \w+ crc: \w+) (?P<sizes>keySize: -?\d+ valueSize: "
    r"-?\d+) (?P<time>\w+: -?\d+) baseOffset: .*?"
    r" batchSize: \d+ magic: (?P<magic>\d) compressType: \w+ position: \d+(?: crc: \d+ isvalid: true)?(?P<rest>.*)"
)
PRODUCER_28 = re.compile(r"(producerId: .* currentTxnFirstOffset: )None( firstSequence: .* timestamp: (\d+))")


def as_now(line, *, own):
    """A line of 2.8 as 4.4 prints it."""
    if line.startswith("Starting offset: "):
        return f"Log s{line[1:]}"
    if found := PRODUCER_28.fullmatch(line):
        last = found[2]
        # Of a producer that wrote nothing since its epoch changed 4.4 says nothing more; 2.8 says -1.
        return f"{found[1]}OptionalLong.empty lastTimestamp: {found[3]}{last if ' lastOffset: -1 ' not in last else ''}"
    if found := RECORD_28.fullmatch(line):
        more = f" {found['crc']}" if found["magic"] < "2" else ""
        rest = found["rest"].partition(" key: ")[0] if own else found["rest"]
        return f"| {found['offset']} {found['time']} {found['sizes']}{more}{rest}"
    line = BATCH_28.sub(
        lambda found: f"{found[1]} deleteHorizonMs: OptionalLong.empty{found[2]}{found[3].lower()}{found[4]}", line
    )
    return MESSAGE_28.sub(lambda found: f"{found[1]}{found[2].lower()}{found[3]}", line)


@pytest.mark.shared
def test_all_files_that_were_dumped_are_compared():
    assert len(files(*CLUSTERS)) + len(files("k28-zk")) == len(DUMPS) == 522
    assert {path.name.split(".")[1] for path in files(*CLUSTERS)} == {
        "log",
        "checkpoint",
        "index",
        "timeindex",
        "txnindex",
        "snapshot",
    }


def lines(path, *options):
    done = kwire("dump", "--like-kafka", *options, path)
    return done.out.splitlines()[1:], done.err.splitlines(), done.code


def test_inner_messages_have_checksums_of_their_own(tmp_path):
    path = tmp_path / LOG
    good, bad = message("v1", 0, b"k"), bytearray(message("v1", 1, None, b"v"))
    bad[12] ^= 1
    path.write_bytes(wrapper("v1", 8, good + bytes(bad)) + message("v0", 9, value=None))
    out, err, code = lines(path, "--deep")
    assert (err, code) == ([f"Non-consecutive offsets in {path}", "  -1 is followed by 7"], 0)
    crcs = [int.from_bytes(part[12:16], "big") for part in (good, bad)]
    assert out[2] == (
        f"| offset: 7 CreateTime: 1760000000000 keySize: 1 valueSize: 1 isValid: true crc: {crcs[0]} key: k payload: v"
    )
    assert (
        out[3]
        == f"| offset: 8 CreateTime: 1760000000000 keySize: -1 valueSize: 1 isValid: false crc: {crcs[1]} payload: v"
    )
    assert out[5].startswith("| offset: 9 NoTimestampType: -1 keySize: -1 valueSize: -1 isValid: true crc: ")


def test_bytes_that_are_no_batch_end_a_file(tmp_path):
    path = tmp_path / LOG
    path.write_bytes(batch(0, [record()]) + bytes(100))
    assert lines(path)[0][-1] == f"Found 100 invalid bytes at the end of {LOG}"
    path.write_bytes(batch(0, [record()]) + b"\xff" * 100 + batch(1, [record()]))
    out, err, code = lines(path)
    assert (len(out), out[2]) == (3, f"Found {100 + len(batch(1, [record()]))} invalid bytes at the end of {LOG}")
    assert (len(err), "more batches" in err[0], code) == (1, True, 0)
    assert lines(path, "--strict")[2] == 1


def test_choices_are_not_taken_for_holes():
    out, err, _ = lines(SEGMENTS / "orders-zstd-0" / LOG, "--deep", "--offsets", "2-3")
    assert [re.match(r"\| offset: (\d+)", line)[1] for line in out if line.startswith("|")] == ["2", "3"]
    assert err == []


def test_what_can_not_be_decoded(tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    keys = [struct.pack(">h", 99) + b"x", b"\0", None, struct.pack(">hH", 2, 1) + b"g", struct.pack(">h", 9)]
    (folder / LOG).write_bytes(batch(0, [record(key, b"\0\x03", offset) for offset, key in enumerate(keys)]))
    rest = [line.partition(" headerKeys: [] ")[2] for line in lines(folder / LOG, "--deep")[0][2:]]
    assert rest[0] == "key: Unknown record type 99 at offset 0, skipping."
    assert rest[4] == "key: Unknown record type 9 at offset 4, skipping."  # it is only in older releases
    assert [line.split(". ")[0] for line in rest[1:4]] == [
        f"key: Error at offset {offset}, skipping" for offset in (1, 2, 3)
    ]
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / LOG).write_bytes(batch(0, [record(None, b"\1\xff\1\0", 0), record(None, None, 1)]))
    rest = [line.partition(" headerKeys: [] ")[2] for line in lines(folder / LOG, "--deep")[0][2:]]
    assert [line.split(". ")[0] for line in rest] == ["payload: Error at 0, skipping", "payload: Error at 1, skipping"]


def test_kafka_4_4_does_not_read_an_early_layout(tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    key, _ = keyed(4, "ConsumerGroupPartitionMetadata", {"groupId": "g"}, None)
    values = [body_of("ConsumerGroupPartitionMetadataValue"), b"\0\0"]  # the second has a null that is not allowed
    (folder / LOG).write_bytes(batch(0, [record(key, b"\0\0" + value, at) for at, value in enumerate(values)]))
    rest = [line.partition(" headerKeys: [] ")[2] for line in lines(folder / LOG, "--deep")[0][2:]]
    assert [line.split(". ")[0] for line in rest] == [f"key: Error at offset {at}, skipping" for at in (0, 1)]


def test_secrets_stay_hidden():
    (path,) = (SEGMENTS / "__cluster_metadata-0").iterdir()
    shown, _, _ = lines(path, "--deep", "--show-secrets")
    hidden, _, _ = lines(path, "--deep")
    different = [(a, b) for a, b in zip(shown, hidden, strict=True) if a != b]
    assert different
    assert all("SCRAM" in a and "<redacted" in b and "<redacted" not in a for a, b in different)


def test_index_mismatches(tmp_path):
    log = batch(10, [record(), record(offset=1)]) + batch(12, [record()])
    second = len(batch(10, [record(), record(offset=1)]))
    base = tmp_path / f"{10:020}"
    base.with_suffix(".log").write_bytes(log)
    index = struct.pack(">4i", 1, 0, 3, second)
    base.with_suffix(".index").write_bytes(index + bytes(16))
    assert lines(base.with_suffix(".index")) == (
        ["offset: 11 position: 0", f"offset: 13 position: {second}"],
        [f"Mismatches in :{base}.index", "  Index offset: 13, log offset: 12"],
        0,
    )
    time = 1_760_000_000_000
    base.with_suffix(".timeindex").write_bytes(struct.pack(">qiqiqiqi", time, 1, time - 1, 2, time + 1, 3, time + 2, 1))
    place = base.with_suffix(".timeindex")
    assert lines(place) == (
        [
            f"timestamp: {time} offset: 11",
            f"timestamp: {time - 1} offset: 12",
            f"timestamp: {time + 1} offset: 13",
            f"timestamp: {time + 2} offset: 11",
        ],
        [
            f"Found timestamp mismatch in :{place}",
            f"  Index timestamp: {time - 1}, log timestamp: {time}",
            f"  Index timestamp: {time + 2}, log timestamp: {time}",
            f"Found out of order timestamp in :{place}",
            f"  Index timestamp: {time - 1}, Previously indexed timestamp: {time}",
            "The following indexed offsets are not found in the log.",
            "Indexed offset: 13, found log offset: -1",
        ],
        0,
    )
    base.with_suffix(".log").unlink()
    assert lines(base.with_suffix(".index")) == (["offset: 11 position: 0", f"offset: 13 position: {second}"], [], 0)


def test_files_that_kafka_does_not_know():
    logs = ROOT / "samples" / "logs"
    assert lines(logs / "meta.properties") == ([], [f"Ignoring unknown file {logs / 'meta.properties'}"], 0)
    done = kwire("dump", "--like-kafka", "--all", logs / "txn-out-1")
    assert [
        Path(line.split()[1]).name.split(".")[-1] for line in done.out.splitlines() if line.startswith("Dumping")
    ] == [
        *("log", "index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint", "metadata"),
    ]
    copy = kwire("dump", "--like-kafka", stdin=(logs / "txn-out-1" / LOG).read_bytes())
    assert copy.out.splitlines()[0] == "Dumping -"
    assert copy.out.splitlines()[1:] == lines(logs / "txn-out-1" / LOG)[0][1:]


def test_damaged_snapshots(tmp_path):
    path = tmp_path / f"{10:020}.snapshot"
    shutil.copyfile(ROOT / "samples" / "logs" / "txn-out-1" / path.name, path)
    assert [line.split()[:4] for line in lines(path)[0]] == [
        ["producerId:", "5", "producerEpoch:", "4"],
        ["producerId:", "6", "producerEpoch:", "1"],
    ]
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    out, (said,), code = lines(path)
    assert (out, said.startswith("Snapshot is corrupt"), code) == ([], True, 0)


@pytest.mark.fuzz
@examples(200)
@given(st.sampled_from(sorted(segments())), st.data())
def test_damage_is_shown_and_never_an_error(name, data):
    raw = bytearray(segments()[name][:3000])
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    done = kwire("dump", "--like-kafka", "--deep", "--as-topic", name.rpartition("-")[0], stdin=raw)
    assert done.code == 0
    assert done.out.startswith("Dumping -\n")


@pytest.mark.fuzz
@examples(100)
@given(st.sampled_from(["index", "timeindex", "txnindex", "snapshot"]), st.data())
def test_damaged_indexes(tmp_path_factory, kind, data):
    folder = tmp_path_factory.mktemp("damaged")
    good = ROOT / "samples" / "logs" / "compacted-txn-0"
    for file in good.glob(f"{30:020}.*"):
        shutil.copyfile(file, folder / file.name)
    path = folder / f"{30:020}.{kind}"
    raw = bytearray(path.read_bytes() * 3)
    for _ in range(data.draw(st.integers(0, 6))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    assert kwire("dump", "--like-kafka", path).code == 0


def test_formats_and_lines_exclude_each_other():
    done = kwire("dump", "--like-kafka", "--format", "csv", SEGMENTS / "orders-zstd-0")
    assert (done.code, "--like-kafka" in done.err) == (2, True)


def test_text_is_as_it_is(tmp_path):
    path = tmp_path / LOG
    path.write_bytes(batch(0, [record(b"a\nb", b"\xff\x1b", headers=[("h", b"1"), ("é", None)])]))
    out = kwire("dump", "--like-kafka", "--deep", path).out
    assert out.endswith("headerKeys: [h,é] key: a\nb payload: \ufffd\x1b\n")


def test_a_format_of_messages_has_their_lines_whatever_its_magic():
    written = kwire(
        "encode",
        "--records",
        "--record-format",
        "kip82-draft",
        "-f",
        "raw",
        '{"records":[{"headers":[{"key":16,"value":"AQ=="}]}]}',
    )
    _, message_line, record_line = kwire(
        "dump", "--deep", "--like-kafka", "--record-format", "kip82-draft", stdin=written.raw
    ).out.splitlines()
    assert message_line.startswith("offset: 0 position: 0 CreateTime: -1 size: 47 magic: 2 ")
    assert re.fullmatch(
        r"\| offset: 0 CreateTime: -1 keySize: -1 valueSize: -1 isValid: true crc: \d+ headerKeys: \[16\]", record_line
    )
    assert (
        "at 0: message, offset 0, "
        in kwire("dump", "-f", "tree", "--record-format", "kip82-draft", stdin=written.raw).out
    )
