"""Bytes by position: the bytes that were requested are there, wherever the window is; others are an error."""

import os
import random

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from kit.lakes import record_requests

import kwire_cli as kwire
from kwire_cli.stores import opening, stored
from kwire_cli.stores.opening import FileBytes
from kwire_cli.stores.paths import path_of

DATA = random.Random(7).randbytes(100_000)
URL = "memory://kwire-bytes/file"


@pytest.fixture(autouse=True)
def file():
    memory = fsspec.filesystem("memory")
    memory.pipe("/kwire-bytes/file", DATA)
    memory.pipe("/kwire-bytes/empty", b"")
    yield
    memory.rm("/kwire-bytes", recursive=True)


@pytest.fixture
def local(tmp_path):
    (tmp_path / "file").write_bytes(DATA)
    return tmp_path / "file"


@pytest.fixture
def requests(monkeypatch):
    """The bytes that a store is asked for, by position and size."""
    return record_requests(monkeypatch)


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize("kept", [0, 5_000, 1 << 20])
def test_windows(monkeypatch, local, kept, is_local):
    monkeypatch.setattr(opening, "BLOCK", 1_000)
    monkeypatch.setattr(opening, "KEPT", kept)
    chosen = random.Random(kept)
    found = FileBytes(local if is_local else URL)
    assert (found.size, found.is_local) == (len(DATA), is_local)
    at, held = 0, []
    for _ in range(60):
        stop = at + chosen.randrange(1, 9_000)
        view = found.view(at, stop)
        assert len(view) == len(DATA)
        assert view.readonly
        assert view[at:stop] == DATA[at:stop]
        assert found.read(stop, stop + 99) == DATA[stop : stop + 99]
        held.append((view, at, min(stop, len(DATA))))
        at = chosen.choice([chosen.randrange(len(DATA)), min(stop, len(DATA) - 1), at])
    assert all(view[start:end] == DATA[start:end] for view, start, end in held)  # also after the window moved
    assert found.view() == DATA


def test_bytes_of_a_store_are_requested_once_and_no_others(requests):
    found = FileBytes(URL)
    for start, stop in ((10, 20), (12, 18), (15, 30), (30, 40), (0, 5)):
        found.view(start, stop)
    assert requests == [(10, 10), (20, 10), (30, 10), (0, 5)]


def test_a_local_file_is_read_a_block_at_a_time(monkeypatch, local):
    monkeypatch.setattr(opening, "BLOCK", 1_000)
    found = FileBytes(local)
    assert found.window(10, 20)[1:] == (10, 1_010)
    assert found.window(1_000, 1_020)[1:] == (10, 2_000)
    assert found.window(99_999, 200_000)[1:] == (99_999, 100_000)


def test_empty_files(tmp_path):
    (tmp_path / "file").touch()
    for path in ("memory://kwire-bytes/empty", tmp_path / "file"):
        found = FileBytes(path)
        assert (len(found), found.view(), found.read(0, 9)) == (0, b"", b"")


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_read_of_a_file(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(16 * opening.KEPT)
    found = FileBytes(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for at in range(0, found.size, 1 << 20):
        view = found.view(at, at + (1 << 20))
    assert len(view) == found.size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (4 * opening.KEPT) >> 10


def test_a_window_of_one_thread_is_not_moved_by_another(monkeypatch, local):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(opening, "BLOCK", 100)
    monkeypatch.setattr(opening, "KEPT", 1_000)
    found = FileBytes(local)

    def read(seed):
        chosen = random.Random(seed)
        for _ in range(500):
            at = chosen.randrange(len(DATA))
            if found.view(at, at + 50)[at : at + 50] != DATA[at : at + 50]:
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(4)))


def test_from_the_beginning_to_the_end(monkeypatch):
    monkeypatch.setattr(stored, "FIRST", 100)
    monkeypatch.setattr(stored, "MOST", 1_000)
    with path_of(URL).open() as file:
        assert b"".join(iter(lambda: file.read1(700), b"")) == DATA
    assert path_of(URL).read_bytes() == DATA


def test_a_file_that_became_shorter_is_an_error_and_what_was_read_stays(monkeypatch, local):
    monkeypatch.setattr(opening, "BLOCK", 1_000)
    found = FileBytes(local)
    view = found.view(0, 1_000)
    os.truncate(local, 500)
    text = f"{local}: it became shorter while it was read: it had 100000 bytes and ends at byte 500 now"
    for start in (0, 900, 50_000):
        with pytest.raises(kwire.InputError) as raised:
            found.view(start, 60_000)
        assert str(raised.value) == text
    assert view[:1_000] == DATA[:1_000]
    assert found.view(0, 1_000)[:1_000] == DATA[:1_000]


def test_what_goes_wrong_is_said(tmp_path, monkeypatch):
    with pytest.raises(kwire.InputError, match="there is no such file or folder"):
        FileBytes("memory://kwire-bytes/nothing")
    with pytest.raises(kwire.InputError, match="cannot be read: No such file or directory"):
        FileBytes(tmp_path / "nothing")
    found = FileBytes(URL)
    fsspec.filesystem("memory").pipe("/kwire-bytes/file", DATA[:50])
    with pytest.raises(kwire.InputError, match="became shorter"):
        found.view(40, 60)
    fsspec.filesystem("memory").pipe("/kwire-bytes/file", DATA)
    monkeypatch.setattr(MemoryFileSystem, "cat_file", lambda *_, **__: DATA)
    with pytest.raises(kwire.InputError, match="the server sends whole files only; download it first"):
        found.view(40, 60)
    monkeypatch.setattr(MemoryFileSystem, "info", lambda _, name: {"name": name, "type": "file", "size": None})
    with pytest.raises(kwire.InputError, match="the server does not say how long it is; download it first"):
        FileBytes(URL)
