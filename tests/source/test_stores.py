"""Captures and segments on a store: the parts, packets and cuts of the same files here, from the bytes that these need
and no more.
"""

import gzip

import fsspec
import pytest
from kit.captures import SAMPLES
from kit.lakes import record_requests
from kit.logs import batch, record

from kwire_cli.source.files import named
from kwire_cli.source.logs.splitting import split_file
from kwire_cli.source.packets import parts
from kwire_cli.source.packets.files import captures_in
from kwire_cli.source.packets.parts import Part, PartReader, outline
from kwire_cli.stores import opening
from kwire_cli.stores.opening import tree
from kwire_cli.stores.paths import path_of
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

CAPTURES = sorted((SAMPLES / "captures").iterdir())


@pytest.fixture
def store():
    """Puts files into memory, and says their URLs."""
    memory = fsspec.filesystem("memory")

    def put(name, data):
        memory.pipe(f"/kwire-store/{name}", data)
        return f"memory://kwire-store/{name}"

    yield put
    memory.rm("/kwire-store", recursive=True)


@pytest.fixture
def asked(monkeypatch):
    """The bytes that stores are asked for, by place and size."""
    return record_requests(monkeypatch)


def packets(part):
    reader = PartReader(part, 7)
    found = []
    for data, some in reader.chunks():
        found += zip(
            some.number,
            some.time,
            some.link,
            some.wire,
            (bytes(data[at : at + size]) for at, size in zip(some.position, some.size, strict=True)),
            strict=True,
        )
    return found, reader.notices


@pytest.mark.parametrize("name", [path.name for path in CAPTURES])
@pytest.mark.parametrize("damage", ["none", "cut", "garbage"])
def test_captures_in_windows(store, monkeypatch, name, damage, tmp_path):
    data = (SAMPLES / "captures" / name).read_bytes()
    if damage == "cut":
        data = data[:-17]
    elif damage == "garbage":
        middle = len(data) // 2
        data = data[:middle] + b"\xff" * 4000 + data[middle:]
    here = tmp_path / name
    here.write_bytes(data)
    there = store(name, data)
    monkeypatch.setattr(parts, "BUFFER", 2_000)
    for size in (3_000, 1 << 20):
        expected, found = outline(here, size), outline(there, size)
        assert [(part.start, part.stop, part.lead, part.packets) for part in found.parts] == [
            (part.start, part.stop, part.lead, part.packets) for part in expected.parts
        ]
        assert (found.packets, found.first, found.latest) == (expected.packets, expected.first, expected.latest)
        for one, other in zip(expected.parts, found.parts, strict=True):
            assert packets(other) == packets(one)
    assert packets(Part(there)) == packets(Part(str(here)))
    assert packets(Part(store(f"{name}.gz", gzip.compress(data)))) == packets(Part(str(here)))


def test_a_window_goes_on_and_lets_go(store, monkeypatch, asked):
    path = max(CAPTURES, key=lambda each: each.stat().st_size)
    data = path.read_bytes()
    there = store(path.name, data)
    monkeypatch.setattr(parts, "BUFFER", 4_000)
    monkeypatch.setattr(parts, "MAX_BLOCK", 3_000)
    monkeypatch.setattr(opening, "KEPT", 0)
    found, _ = packets(Part(there))
    assert len(found) == outline(path).packets
    assert (
        sum(size for _, size in asked) <= len(data) + 4_000
    )  # the header twice, and what stands between it and the first window
    assert max(size for _, size in asked) <= 8_000


def test_a_segment_is_cut_by_its_index_and_read_by_its_parts(store, asked, tmp_path):
    batches = [batch(10 * number, [record(b"key", bytes(90), offset) for offset in range(10)]) for number in range(60)]
    index, at = b"", 0
    for number, each in enumerate(batches):
        if number and number % 4 == 0:
            index += OFFSET_INDEX_ENTRY.build({"relativeOffset": 10 * number + 9, "position": at})
        at += len(each)
    name = "t-0/00000000000000000000"
    (tmp_path / "t-0").mkdir()
    (tmp_path / f"{name}.log").write_bytes(b"".join(batches))
    (tmp_path / f"{name}.index").write_bytes(index)
    there = store(f"{name}.log", b"".join(batches))
    assert split_file(there, 10_000) == [(0, at)]  # without an index it is one part, and nothing of it is fetched
    assert not asked
    store(f"{name}.index", index)
    cuts = split_file(there, 10_000)
    assert cuts == split_file(tmp_path / f"{name}.log", 10_000)
    assert cuts[-1][1] == at
    assert sum(size for _, size in asked) < at * 2  # a batch has 1 kB, and a look at one takes 10 kB
    store(f"{name}.index", index[:-8] + OFFSET_INDEX_ENTRY.build({"relativeOffset": 7, "position": 13}))
    assert split_file(there, 1 << 20) == [(0, at)]
    store(f"{name}.index", b"\xff" * 80)
    assert split_file(there, 10_000) == [(0, at)]


def test_captures_of_folders_and_globs(store):
    for path in CAPTURES:
        store(f"caps/{path.name}", path.read_bytes())
    store("caps/old/packed", gzip.compress(CAPTURES[0].read_bytes()))
    store("caps/old/damaged.pcap", b"no capture")
    store("caps/old/notes.txt", b"no capture")
    every = [f"memory://kwire-store/caps/{path.name}" for path in CAPTURES]
    packed, damaged = (f"memory://kwire-store/caps/old/{name}" for name in ("packed", "damaged.pcap"))
    assert captures_in(tree(path_of("memory://kwire-store/caps"))) == sorted([*every, packed, damaged])
    assert named("memory://kwire-store/**/*.pcap*") == sorted([*every, damaged])
