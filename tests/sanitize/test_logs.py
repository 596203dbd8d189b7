"""Segments and log directories before and after."""

import io
import json

import pytest
from kit import logs as make
from kit.commands import ROOT, kwire

from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import Frames, RecordSets
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.source.logs.model import file_name
from kwire_cli.spec.catalog import catalog

SEGMENTS = sorted(
    each for pattern in ("*.log", "*.checkpoint") for each in (ROOT / "samples" / "segments").glob(f"*/{pattern}")
)
KEPT = {"offset", "timestamp", "sequence", "keySize", "valueSize"}


def dumped(path, topic):
    return [
        json.loads(line)
        for line in kwire("dump", path, "--as-topic", topic, "--deep", "--format", "jsonl").out.splitlines()
    ]


def shape(item):
    out = {key: value for key, value in item.items() if key not in {"crc", "records", "anomalies"}}
    out["anomalies"] = [(each["code"], each["path"], each["offset"]) for each in item.get("anomalies", ())]
    records = [
        {key: record[key] for key in KEPT}
        | {"headers": [(len(each["key"].encode()), each["value"] and len(each["value"])) for each in record["headers"]]}
        | {"control": record.get("control", {}).get("type"), "decoded": keys(record.get("decoded"))}
        for record in item.get("records", ())
    ]
    return out | {"records": records}


def keys(value):
    """What has a name, without what is said."""
    if isinstance(value, dict):
        return {name: keys(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [keys(inner) for inner in value]
    return len(value.encode()) if isinstance(value, str) else value


def said(path):
    for item in read_items(source_of(path)):
        for record in item.records() if isinstance(item, Batch) else ():
            yield from (record.key, record.value)
            for key, value in record.headers:
                yield from (key.encode(), value)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_all_but_what_is_said_stays(path, tmp_path):
    topic = path.parent.name.rpartition("-")[0]
    out = tmp_path / path.name
    done = kwire("sanitize", path, out, "--as-topic", topic)
    assert done.code == 0, done.err
    assert out.stat().st_size == path.stat().st_size
    after = dumped(out, topic)
    assert [shape(item) for item in after] == [shape(item) for item in dumped(path, topic)]
    assert after


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_nothing_that_is_said_is_left(path, tmp_path):
    out = tmp_path / path.name
    assert kwire("sanitize", path, out).code == 0
    internal = path.parent.name.startswith("__") or "txn" in path.parent.name  # control records are numbers
    secret = {
        each
        for each in said(path)
        if each and len(each) >= 4 and (not internal or each.strip(bytes(range(32))).isalnum())
    }
    shown = out.read_bytes() + b"|".join(each for each in said(out) if each)
    assert [each for each in secret if each in shown] == []


AMOUNT = b"amount: 12 and more" * 3


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("name", ["v0", "v1", "v2"])
def test_every_format_and_codec(name, codec):
    if name == "v2":
        headers = [("trace", b"abcd-1234")]
        records = [make.record(b"customer-%d" % (i % 3), AMOUNT, i, headers=headers) for i in range(9)]
        data = make.batch(records=records, codec=codec)
    else:
        inner = b"".join(make.message(name, i, b"customer-%d" % (i % 3), AMOUNT) for i in range(9))
        data = make.wrapper(name, 8, inner, codec) if codec else inner
    fields = Fields(catalog(), Replacement(b"a key"))
    made = RecordSets(fields)(data, None)
    (before, after) = ([[*item.records()] for item in read_items(source_of(each))] for each in (data, made))
    assert len(made) == len(data)
    assert b"customer" not in made
    assert [[record[:3] for record in item] for item in after] == [[record[:3] for record in item] for item in before]
    flat_before, flat_after = ([record for item in each for record in item] for each in (before, after))
    assert all(
        one.key != other.key and len(one.key) == len(other.key)
        for one, other in zip(flat_before, flat_after, strict=True)
    )
    items = [list(read_items(source_of(each))) for each in (data, made)]
    assert all(item.crc_valid for item in items[1])
    codes = [[note.code for item in some for note in item.anomalies] for some in items]
    assert codes[0] == codes[1]
    if not codec:
        assert len({record.key for record in flat_after}) == 3
    assert not [count for what, count in fields.counts.items() if "blank" in what]


def test_a_batch_that_says_a_wrong_checksum_still_does():
    data = bytearray(make.batch(records=[make.record(value=b"some value")]))
    data[20] ^= 1
    made = RecordSets(Fields(catalog(), Replacement()))(bytes(data), None)
    (item,) = read_items(source_of(made))
    assert not item.crc_valid
    assert b"some" not in made


def test_what_does_not_decompress_is_blank():
    data = make.batch(records=[make.record(value=b"some value")], codec=3, packed=b"no lz4 at all, some value")
    fields = Fields(catalog(), Replacement())
    made = RecordSets(fields)(data, None)
    assert b"some value" not in made
    assert fields.counts == {"compressed batches that are blank": 1}


def test_a_log_directory_keeps_its_indexes(tmp_path):
    source, out = ROOT / "samples" / "logs", tmp_path / "logs"
    done = kwire("sanitize", source, out, "--secret", "a key")
    assert done.code == 0
    files = {each.relative_to(out).as_posix() for each in out.rglob("*") if each.is_file()}
    assert not any("txn-out" in each or "trimmed" in each for each in files)
    assert any(each.startswith("__cluster_metadata-0/") for each in files)
    before = {each.name: each.read_bytes() for each in (source / "txn-out-1").iterdir()}
    (folder,) = out.glob("*-1")
    assert {each.name for each in folder.iterdir()} < set(before)
    for each in folder.glob("*index"):
        assert each.read_bytes() == before[each.name]
    assert "meta.properties: left out" in done.err


SEGMENT = ROOT / "samples" / "logs" / "trimmed-0" / "00000000000000000030.log"
STRAY = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("folder", "kept"),
    [
        ("customer-acme.d", ""),
        ("plainacme", ""),
        ("acme-orders-3-stray", ""),
        ("acme-orders-3", "-3"),
        (f"acme-orders-3.{STRAY}-stray", f"-3.{STRAY}-stray"),
        (f"acme-orders-3.{STRAY}-delete", f"-3.{STRAY}-delete"),
        ("acme-orders-3.acme-future", "-future"),
        ("__consumer_offsets-7", "__consumer_offsets-7"),
        ("äcme", ""),
    ],
)
def test_folders_are_named_anew(folder, kept, tmp_path):
    source, out = tmp_path / "in" / folder / "acme-0", tmp_path / "out"
    source.mkdir(parents=True)
    (source / SEGMENT.name).write_bytes(SEGMENT.read_bytes())
    assert kwire("sanitize", tmp_path / "in", out).code == 0
    (file,) = (each.relative_to(out) for each in out.rglob("*") if each.is_file())
    assert file.name == SEGMENT.name
    assert "cme" not in str(file)
    assert file.parts[0].endswith(kept)
    assert file.parts[1].endswith("-0")


@pytest.mark.parametrize(
    "name", ["acme-00000000000000000030.log", "acme.log", "acme.log.deleted", f"{'0' * 20}_acme{'a' * 18}.log"]
)
def test_files_are_named_anew_where_they_have_more_of_a_name_than_those_of_kafka(name, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / name).write_bytes(SEGMENT.read_bytes())
    assert kwire("sanitize", source, out).code == 0
    (file,) = out.iterdir()
    assert "acme" not in file.name
    assert file_name(file.name) == file_name(name)


NUMBERS = [f"{30:020}.{kind}" for kind in ("index", "timeindex", "txnindex", "snapshot")]


@pytest.mark.parametrize("name", [*NUMBERS, f"{40:020}.snapshot", "leader-epoch-checkpoint"])
@pytest.mark.parametrize("more", [b"", b"password=hunter2 and\nmore\n"])
def test_what_is_numbers_by_its_name_alone_is_left_out(name, more, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / SEGMENT.name).write_bytes(SEGMENT.read_bytes())
    genuine = SEGMENT.parent / name
    before = genuine.read_bytes() if genuine.exists() else b""
    for at, text in enumerate((more, before + more) if more else (before,)):
        (source / name).write_bytes(text)
        done = kwire("sanitize", source, out / str(at))
        assert done.code == 0
        copied = out / str(at) / name
        if more:
            assert not copied.exists()
            assert f"{name}: left out" in done.err
        elif genuine.exists():
            assert copied.read_bytes() == before


def test_tokens_stay_tokens():
    frames = Frames(Fields(catalog(), Replacement()), str)
    assert frames.token(b"\0\0\0\x05\0u\0pw") == b"\0\0\0\x05xxxxx"
    assert frames.token(b"\0\0\0\x05\x60u\0pw") == b"\0\0\0\x05\x60xxxx"


@pytest.mark.parametrize("arguments", [["missing", "out"], ["README.md", "out"], ["samples/frames", "out"]])
def test_what_cannot_be_done(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = kwire("sanitize", arguments[0], tmp_path / arguments[1])
    assert done.code == 2
    assert arguments[0] in done.err
    assert not (tmp_path / arguments[1]).exists()


def test_nothing_is_written_over_unasked(tmp_path):
    path = SEGMENTS[0]
    out = tmp_path / "out.log"
    out.write_bytes(b"mine")
    done = kwire("sanitize", path, out)
    assert done.code == 2
    assert "--force" in done.err
    assert out.read_bytes() == b"mine"
    assert kwire("sanitize", path, out, "--force").code == 0
    assert kwire("sanitize", out, out, "--force").code == 2
    assert not list(tmp_path.glob("*.part"))


def test_names_apart_even_where_they_are_short():
    replacement = Replacement(b"a key")
    names = [bytes((i,)) for i in range(ord("a"), ord("z") + 1)] + [b"t%d" % i for i in range(300)]
    assert len({replacement.text(name) for name in names}) == len(names)
    assert replacement.text(b"") == b""
    assert not replacement.text(b"\xff\xfe\xfd").isascii()
    assert io.BytesIO(replacement.letters(b"x" * 100)).read(32) == replacement.letters(b"x" * 100)[32:64]
