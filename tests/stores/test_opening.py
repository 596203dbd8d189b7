"""Bytes by position: what was asked for is there, wherever the window goes; what can't be is an error that says so."""

import errno
import os
import random

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import fsspec

import kwire_cli as kwire
from kwire_cli.stores import mapped, opened, opening, path_of, paths

DATA = random.Random(7).randbytes(100_000)
URL = "memory://kwire-bytes/file"


@pytest.fixture(autouse=True)
def file():
    memory = fsspec.filesystem("memory")
    memory.pipe("/kwire-bytes/file", DATA)
    memory.pipe("/kwire-bytes/empty", b"")
    yield
    memory.rm("/kwire-bytes", recursive=True)


@pytest.mark.parametrize("kept", [0, 5_000, 1 << 20])
def test_windows(monkeypatch, kept):
    monkeypatch.setattr(opening, "BLOCK", 1_000)
    monkeypatch.setattr(opening, "KEPT", kept)
    chosen = random.Random(kept)
    found = opened(URL)
    assert (found.size, found.near) == (len(DATA), False)
    at, held = 0, []
    for _ in range(60):
        stop = at + chosen.randrange(1, 9_000)
        view = found.view(at, stop)
        assert len(view) == len(DATA)
        assert view[at:stop] == DATA[at:stop]
        held.append((view, at, min(stop, len(DATA))))
        at = chosen.choice([chosen.randrange(len(DATA)), min(stop, len(DATA) - 1), at])
    assert all(
        view[start:end] == DATA[start:end] for view, start, end in held
    )  # windows that moved on stay as they were
    assert found.view() == DATA
    assert mapped(URL) == DATA


def test_what_was_fetched_is_not_fetched_again(monkeypatch):
    asked = []
    read = opening.Fetched._read
    monkeypatch.setattr(
        opening.Fetched, "_read", lambda self, at, size: asked.append((at, size)) or read(self, at, size)
    )
    found = opened(URL)
    for start, stop in ((10, 20), (12, 18), (15, 30), (30, 40), (0, 5)):
        found.view(start, stop)
    assert asked == [(10, 10), (20, 10), (30, 10), (0, 5)]


def test_an_empty_file_and_one_of_this_machine(tmp_path):
    assert opened("memory://kwire-bytes/empty").view() == b""
    (tmp_path / "file").write_bytes(DATA)
    assert opened(tmp_path / "file").near
    assert mapped(tmp_path / "file", 5, 6) == DATA  # all of it: it costs nothing


def test_from_the_beginning_to_the_end(monkeypatch):
    monkeypatch.setattr(paths, "FIRST", 100)
    monkeypatch.setattr(paths, "MOST", 1_000)
    with path_of(URL).open() as file:
        assert b"".join(iter(lambda: file.read1(700), b"")) == DATA
    assert path_of(URL).read_bytes() == DATA


def test_what_goes_wrong_is_said(monkeypatch):
    with pytest.raises(kwire.InputError, match="there is no such file or folder"):
        opened("memory://kwire-bytes/nothing")
    found = opened(URL)
    with monkeypatch.context() as patch:

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(os, "pwrite", full)
        with pytest.raises(kwire.InputError, match=r"no room for what is read of it: No space left on device \(TMPDIR"):
            found.view(0, 10)
    assert found.view(0, 10)[:10] == DATA[:10]
    fsspec.filesystem("memory").pipe("/kwire-bytes/file", DATA[:50])
    monkeypatch.setattr(
        found, "_file", type("Cut", (), {"read_at": staticmethod(lambda size, at: DATA[:50][at : at + size])})
    )
    with pytest.raises(kwire.InputError, match="became shorter"):
        found.view(40, 60)
