"""Runs into a lake that has rows already: of inputs that were given before, of others beside them, and of some that are
gone by now.
"""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from kit.commands import ROOT, kwire as command
from kit.lakes import content, rows_of, run

from kwire_cli.errors import InputError
from kwire_cli.lake import chosen, units
from kwire_cli.lake.in_tasks import Cut, write_in_tasks
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.processes import Processes
from kwire_cli.lake.units import inputs_for, named_files

CAPTURES = ROOT / "samples" / "captures"
SEGMENTS = ROOT / "samples" / "segments"


def in_tasks(inputs, into, *, tables=None, again=False):
    wanted = Wanted(chosen(tables), Reading())
    files = named_files(inputs_for([str(path) for path in inputs], wanted))
    with Processes(2) as tasks:
        return write_in_tasks(tasks, files, into, wanted, cut=Cut(window=1 << 20), again=again)


def frames_of(lake):
    return dict(rows_of(lake, "select parse_filename(file), count(*) from frames group by all"))


def inputs_in(lake):
    return {Path(path).name for (path,) in rows_of(lake, "select path from inputs")}


@pytest.fixture
def days(tmp_path):
    """Captures of one capture point, whose connections have nothing in common."""
    folder = tmp_path / "days"
    folder.mkdir()
    for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap", "ipv6.pcap"):
        shutil.copy(CAPTURES / name, folder)
    return [*sorted(folder.iterdir())]


@pytest.mark.parametrize("write", [run, in_tasks])
def test_one_capture_after_the_other_gives_what_all_at_once_give(days, tmp_path, write):
    lake = tmp_path / "lake"
    for number, day in enumerate(days):
        assert write([day], lake).read == number + 1  # connections go on from file to file
    run([days[0].parent], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")
    assert len(frames_of(lake)) == len(days)
    for some in [days[0]], days[1:], days:
        assert (write(some, lake).read, write(some, lake).known) == (0, len(some))
    assert content(lake) == content(tmp_path / "whole")


@pytest.mark.parametrize("write", [run, in_tasks])
def test_rows_of_captures_that_are_gone_stay(days, tmp_path, write):
    lake, first = tmp_path / "lake", days[0]
    write([first], lake)
    before = rows_of(lake, "select * from frames order by all")
    first.unlink()
    assert write(days[1:2], lake).read == 1
    assert write(days[1:], lake).read == 2  # they are a unit that goes on
    assert [row for row in rows_of(lake, "select * from frames order by all") if row in before] == before
    run(days[1:], tmp_path / "others")
    others = frames_of(tmp_path / "others")
    assert {name: count for name, count in frames_of(lake).items() if name != first.name} == others
    assert inputs_in(lake) == {day.name for day in days}
    assert rows_of(lake, "select count(distinct unit), count(distinct capture_point) from inputs") == [(2, 1)]
    sizes = rows_of(lake, "select (select sum(size) from frames), (select sum(prefix_bytes + value_bytes) from costs)")
    assert sizes[0][0] == sizes[0][1]
    assert (write([days[1].parent], lake).read, inputs_in(lake)) == (0, {day.name for day in days})


def test_a_capture_that_changed_after_others_went_is_an_error(days, tmp_path):
    lake = tmp_path / "lake"
    run([days[0].parent], lake)
    before = content(lake)
    days[0].unlink()
    days[2].write_bytes(days[2].read_bytes()[:-40])
    with pytest.raises(InputError, match=r"has changed since .*ipv6.* gone: .*--force") as error:
        run([days[0].parent], lake)
    assert error.value.file == str(days[2])
    assert content(lake) == before
    assert run([days[0].parent], lake, again=True).read == 2
    run([days[0].parent], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")


def test_force_leaves_units_alone_of_which_nothing_is_read(days, tmp_path):
    lake = tmp_path / "lake"
    run(days[:1], lake)
    days[0].unlink()
    run(days[1:2], lake)
    run(days[1:2], lake, again=True)
    assert inputs_in(lake) == {day.name for day in days[:2]}


@pytest.mark.parametrize("write", [run, in_tasks])
def test_rows_of_partitions_that_are_not_given_stay(tmp_path, write):
    broker, lake = tmp_path / "broker", tmp_path / "lake"
    for number in range(4):
        shutil.copytree(SEGMENTS / "orders-zstd-0", broker / f"orders-{number}")
    partitions = sorted(broker.iterdir())
    for partition in partitions:
        write([partition], lake)
    run([broker], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")
    for path in partitions[0].iterdir():
        path.unlink()
    (log,) = partitions[1].glob("*.log")
    log.write_bytes(log.read_bytes() * 2)
    write([broker], lake)
    counts = dict(rows_of(lake, "select partition, count(*) from batches group by all"))
    assert counts[1] == 2 * counts[0]
    assert counts[0] == counts[2] == counts[3] > 0
    assert (write([broker], lake).read, write(partitions[2:], lake).read) == (0, 0)


def test_rows_of_partitions_stay_if_there_are_more_packs(tmp_path, monkeypatch):
    broker, lake = tmp_path / "broker", tmp_path / "lake"
    for number in range(8):
        shutil.copytree(SEGMENTS / "orders-zstd-0", broker / f"orders-{number}")
    run([broker], lake)
    before = content(lake)
    monkeypatch.setattr(units, "SMALL", 2 * sum(path.stat().st_size for path in (broker / "orders-0").iterdir()))
    run([broker / f"orders-{number}" for number in range(5)], lake)
    assert len(rows_of(lake, "select distinct unit from inputs")) > 1
    assert content(lake) == before


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow"])
def test_rows_of_partitions_in_other_formats_stay_or_the_run_says_why_not(tmp_path, form):
    lake = tmp_path / "lake"
    asked = ("-o", lake, "--out-format", form)
    assert command("export", SEGMENTS / "orders-zstd-0", *asked).code == 0
    before = [path.read_bytes() for path in sorted(lake.glob("batches/**/*.*"))]
    assert "1 input file unchanged" in command("export", SEGMENTS / "orders-zstd-0", *asked).err
    done = command("export", SEGMENTS / "v1-kp-gzip-0", *asked)
    if form == "arrow":
        files = [pa.ipc.open_file(path).read_all() for path in lake.glob("batches/**/*.arrow")]
        topics = {topic for table in files for topic in table["topic"].to_pylist()}
        assert (done.code, topics) == (0, {"orders-zstd", "v1-kp-gzip"})
    else:
        assert done.code == 2
        assert f"cannot be kept in {form}: write into another folder" in done.err
        assert before == [path.read_bytes() for path in sorted(lake.glob("batches/**/*.*"))]


def test_files_are_of_one_format(tmp_path):
    asked = ("export", CAPTURES / "ipv6.pcap", "-o", tmp_path / "lake", "--out-format")
    assert command(*asked, "csv").code == 0
    other = command(*asked, "parquet")
    assert (other.code, "this has files in csv: write into another folder" in other.err) == (2, True)


def test_tables_that_were_not_asked_for_before_are_added(days, tmp_path):
    lake, inputs = tmp_path / "lake", [days[0], SEGMENTS / "orders-zstd-0"]
    assert run(inputs, lake, tables="names,records").read == 2
    assert run(inputs, lake, tables="records").read == 0
    assert run(inputs, lake, tables="frames,batches").read == 2
    counts = rows_of(lake, "select count(*) > 0 from frames union all select count(*) > 0 from records")
    assert counts == [(True,), (True,)]
    assert run(inputs, lake, tables="all").read == 2
    run(inputs, tmp_path / "whole", tables="all")
    assert content(lake) == content(tmp_path / "whole")
    assert run(inputs, lake, tables="bodies").read == 0
