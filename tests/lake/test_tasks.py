"""However much is read at once, and whatever goes from task to task, the rows are the same."""

import shutil
from dataclasses import replace

import pytest
from kit import traffic as make
from kit.captures import SAMPLES, packet_of
from kit.commands import ROOT
from kit.lakes import content, die, rotated_points, rows_of

from kwire_cli.errors import InputError
from kwire_cli.lake import chosen, export as exporting, processes, window_tasks
from kwire_cli.lake.export import Cut, export, write_tables
from kwire_cli.lake.inputs import named_files
from kwire_cli.lake.long_connections import Lengths, lengths_of
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.windows import Window
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

OWN = ROOT.parent / "shared" / "real" / "own"


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Writes inputs to a lake in one window of this process, and in other windows with files between tasks; returns
    what that run did, and both lakes.
    """

    def both(*inputs, tables="all", cut=None, form="delta"):
        wanted = Wanted(chosen(tables), Reading())
        paths = [str(path) for path in inputs]
        whole = export(paths, tmp_path / "one", wanted, form=form)
        with monkeypatch.context() as patched, processes.Processes(1) as tasks:
            patched.setattr(processes, "FEW_BYTES", 1)
            files = named_files(paths)
            done = write_tables(tasks, files, tmp_path / "tasks", wanted, cut=Cut(**(cut or {})), form=form)
        assert (done.read, done.size, done.faults) == (whole.read, whole.size, whole.faults)
        return done, tmp_path / "tasks", tmp_path / "one"

    return both


def halves(folder):
    """Make a folder of two files that overlap in time, each with every other packet of a capture."""
    folder.mkdir()
    segments = [*Segments()(packets(SAMPLES / "captures" / "ipv6.pcap"))]
    for half in (0, 1):
        some = [packet_of(segment, number) for number, segment in enumerate(segments) if number % 2 == half]
        (folder / f"{half}.pcap").write_bytes(make.pcap_file(some))
    return folder


@pytest.mark.slow
def test_the_samples(both):
    done, tasks, one = both(SAMPLES / "captures", SAMPLES / "segments", SAMPLES / "logs", SAMPLES / "request-logs")
    assert content(tasks) == content(one)
    assert done.read > 50
    assert not [*tasks.glob("_*")]


@pytest.mark.slow
def test_captures_in_small_parts(both):
    """Connections go on from part to part, and in another task than their packets were read in."""
    _, tasks, one = both(SAMPLES / "captures", cut={"part": 3000})
    assert content(tasks) == content(one)


def test_files_that_overlap_in_time(both, tmp_path):
    _, tasks, one = both(halves(tmp_path / "halves"), tables=None, cut={"part": 4000, "parts": 9})
    assert content(tasks) == content(one)


@pytest.mark.slow
def test_windows(both, tmp_path, monkeypatch):
    """Connections go on from window to window: of rotated files, midstream, TLS, and with fetch sessions. Files are
    looked at in tasks.
    """
    monkeypatch.setattr("kwire_cli.lake.export.FEW_FILES", 2)
    points = rotated_points(tmp_path / "in")
    _, tasks, one = both(points, SAMPLES / "tls", tables=None, cut={"part": 20_000, "parts": 5})
    assert content(tasks) == content(one)


@pytest.fixture
def pieces(monkeypatch):
    """The names of pieces of connections that tasks read."""
    read = []

    def read_pieces(job, names):
        read.extend(names := [*names])
        return window_tasks.read_pieces(job, names)

    monkeypatch.setattr(exporting, "read_pieces", read_pieces)
    return read


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [Lengths(0, 1), Lengths(1000, 4000)])
def test_long_connections(both, tmp_path, pieces, lengths):
    """Pieces of connections are read by other tasks: of rotated files, midstream, TLS, with fetch sessions, segments
    that were sent again, and over windows.
    """
    points = rotated_points(tmp_path / "in")
    (points / "loss").mkdir()
    shutil.copy(SAMPLES / "incidents" / "loss.pcap", points / "loss")
    cut = {"part": 20_000, "parts": 20, "lengths": lengths}
    _, tasks, one = both(points, SAMPLES / "tls", tables=None, cut=cut)
    assert content(tasks) == content(one)
    assert len(pieces) > 10
    assert not [*tasks.glob("_*")]


@pytest.mark.slow
@pytest.mark.parametrize(("lengths", "parts"), [(Lengths(0, 1), 3), (Lengths(1000, 4000), 100)])
def test_long_connections_in_files_that_overlap(both, tmp_path, pieces, lengths, parts):
    cut = {"part": 2000, "parts": parts, "lengths": lengths}
    _, tasks, one = both(halves(tmp_path / "halves"), tables=None, cut=cut)
    assert content(tasks) == content(one)
    assert len(pieces) > 2


def test_where_connections_are_cut():
    """One core reads all bytes anyway; with several, none has much more than its share."""
    window = Window("", 1, 64 << 30, {})
    assert lengths_of(window, 1) is None
    assert lengths_of(window, 8) == Lengths(4 << 30, 128 << 20)
    assert lengths_of(replace(window, size=1 << 20), 2) == Lengths(64 << 20, 32 << 20)


def test_files_that_cannot_be_read(both, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    whole = (SAMPLES / "captures" / "ipv6.pcap").read_bytes()
    (folder / "cut.pcap").write_bytes(whole[: len(whole) - 7])
    done, tasks, one = both(folder, tables=None)
    assert content(tasks) == content(one)
    assert done.faults == 2


@pytest.mark.slow
@pytest.mark.shared
def test_real_captures_and_logs(both):
    _, tasks, one = both(*sorted(OWN.glob("captures/*"))[::6], *sorted(OWN.glob("segments/*"))[::6], tables=None)
    assert content(tasks) == content(one)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ["sweep39-controller", "sasl-plain-v0-v1"])
def test_software_of_real_captures(both, name):
    """Parts and pieces end between the first frame of a connection and the one that names the software."""
    cut = {"part": 3000, "parts": 4, "lengths": Lengths(0, 1)}
    _, tasks, one = both(OWN / "captures" / name, tables="frames", cut=cut)
    assert content(tasks) == content(one)
    known = rows_of(one, "select count(software) > 0, count(software) < count(*) from frames where kind = 'request'")
    assert known == [(True, True)]


def test_text(both):
    """Tasks put names into frames that other tasks wrote."""
    _, tasks, one = both(SAMPLES / "captures" / "ipv6.pcap", tables="frames,names,faults", form="csv")
    lines = [
        sorted(line for path in lake.glob("frames/**/*.csv") for line in path.read_text("utf-8").splitlines()[1:])
        for lake in (tasks, one)
    ]
    assert lines[0] == lines[1] != []


@pytest.mark.slow
def test_a_process_that_is_killed_is_said():
    with (
        processes.Processes(2) as tasks,
        pytest.raises(InputError, match="a process that reads was killed: if memory ran out, try fewer with --jobs N"),
    ):
        [*tasks.folded(2, die)]
