"""`kwire export --filter` and `--fields`: rows of frames that match, and columns of one table."""

import json

import pyarrow.parquet as pq
import pytest
from kit.captures import SAMPLES
from kit.commands import kwire
from kit.lakes import rows_of, run

from kwire_cli.errors import InputError
from kwire_cli.filter import FilterError
from kwire_cli.lake import CHOICES
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.query import Lake

CAPTURES = SAMPLES / "captures"
CAPTURE = CAPTURES / "kafka-python-4.4.0.pcapng"
SEGMENTS = SAMPLES / "segments"
LOGS = SAMPLES / "request-logs"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "whole"
    run([CAPTURES], folder, "frames,names")
    return folder


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ("api == Fetch", "api = 'Fetch'"),
        ("kind == response and latency > 1ms", "kind = 'response' and latency_us > 1000"),
        ("error", "len(errors) > 0"),
        ("client ~ 'consumer'", "contains(client_id, 'consumer')"),
        ("size > 1000 or broker == 1", "size > 1000 or broker = 1"),
        ("frame < 5", "frame < 5"),
    ],
)
def test_rows_are_those_of_the_frames_that_match(whole, wanted, condition, tmp_path):
    run([CAPTURES], tmp_path, "frames,costs", only=wanted)
    shared = "src, dst, stream, frame, kind, size, api, client_id, latency_us, request_frame, errors::varchar"
    own = rows_of(tmp_path, f"select {shared} from frames order by all")
    those = rows_of(whole, f"select {shared} from frames where {condition} order by all")
    assert own
    if "broker" not in wanted:  # nodes are known to rows as soon as any frame names them, to filters when one has
        assert own == those
    assert {*own} <= {*those}
    costs = rows_of(tmp_path, "select sum(prefix_bytes + value_bytes)::bigint from costs")
    assert costs == rows_of(tmp_path, "select sum(size)::bigint from frames")


def test_bodies_and_faults_are_those_of_the_frames(tmp_path):
    run([CAPTURES], tmp_path, "all", only="api == Produce and kind == request")
    with Lake(tmp_path) as tables:
        bodies = [name for name in tables.tables if name.startswith("bodies_")]
    assert bodies == ["bodies_produce_request"]
    count = rows_of(tmp_path, "select count(*) from frames")
    assert rows_of(tmp_path, "select count(*) from bodies_produce_request") == count != [(0,)]
    others = "select count(*) from faults where frame is not null and frame not in (select frame from frames)"
    assert rows_of(tmp_path, others) == [(0,)]


def test_names_are_learnt_from_all_frames(whole, tmp_path):
    run([CAPTURES], tmp_path, "frames,names", only="api == Fetch")
    query = "select kind, key, name from names order by all"
    assert rows_of(tmp_path, query) == rows_of(whole, query)
    query = "select distinct unnest(topics) from frames where api = 'Fetch' order by all"
    assert rows_of(tmp_path, query) == rows_of(whole, query)


def test_a_folder_has_the_frames_of_one_filter(tmp_path):
    run([CAPTURE], tmp_path, only="api == Fetch")
    assert rows_of(tmp_path, "select distinct filter from inputs") == [("api == Fetch",)]
    assert run([CAPTURE], tmp_path, only="api == Fetch").known == 1
    for other, again in ((None, False), ("api == Produce", False), (None, True)):
        with pytest.raises(InputError, match="frames of --filter 'api == Fetch': write into another folder"):
            run([CAPTURE], tmp_path, only=other, again=again)


def test_a_folder_has_the_same_columns_of_all_inputs(tmp_path):
    def run(*columns, again=False):
        export([str(CAPTURE)], tmp_path, Wanted({"frames"}, Reading(), columns=columns), again=again)

    run("time", "api")
    assert rows_of(tmp_path, "select distinct fields from inputs") == [("time,api",)]
    run("time", "api", again=True)
    with pytest.raises(InputError, match="the columns of --fields time,api: write into another folder"):
        run()


def test_a_folder_without_a_filter_gets_none(tmp_path):
    run([CAPTURE], tmp_path)
    assert rows_of(tmp_path, "select distinct filter from inputs") == [(None,)]
    with pytest.raises(InputError, match="tables without a filter"):
        run([CAPTURE], tmp_path, only="error")


def test_a_folder_of_an_older_kwire_has_no_filter(tmp_path):
    run([CAPTURE], tmp_path)
    [path] = (tmp_path / "inputs").glob("*.parquet")
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns(["filter"]), path)
    assert run([CAPTURE, SEGMENTS], tmp_path).known == 1
    assert rows_of(tmp_path, "select distinct filter from inputs") == [(None,)]


@pytest.mark.parametrize("log", [SEGMENTS, LOGS])
def test_logs_have_no_filter(log, tmp_path):
    with pytest.raises(InputError, match="--filter is for packet captures"):
        run([CAPTURE, log], tmp_path / "lake", only="error")
    assert not (tmp_path / "lake").exists()


def test_a_filter_that_is_none_is_an_error(tmp_path):
    with pytest.raises(FilterError):
        run([CAPTURE], tmp_path / "lake", only="eror")
    done = kwire("export", CAPTURE, "-o", tmp_path / "lake", "--filter", "eror")
    assert done.code == 2
    assert "did you mean error" in done.err
    assert not (tmp_path / "lake").exists()


def test_a_filter_may_leave_nothing(tmp_path):
    done = kwire("export", CAPTURE, "-o", tmp_path, "--filter", "size == 1", "--tables", "frames", "-f", "json")
    assert (done.code, json.loads(done.out)["tables"]["tables"]) == (0, [])
    assert rows_of(tmp_path, "select count(*) from frames") == [(0,)]


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_columns_of_one_table(form, tmp_path):
    words = ("--tables", "frames", "--fields", "size, api,day,size", "--out-format", form)
    assert kwire("export", CAPTURE, "-o", tmp_path, *words).code == 0
    [file] = (tmp_path / "frames").rglob(f"*.{form}")
    if form == "parquet":
        assert pq.read_schema(file).names == ["size", "api"]
        assert rows_of(tmp_path, "select count(day), count(capture_point), sum(size) > 0 from frames")[0][2]
    if form == "csv":
        assert file.read_text("utf-8").startswith("size,api\n")
    if form == "jsonl":
        assert {*json.loads(file.read_text("utf-8").splitlines()[0])} == {"size", "api"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fields", "api"), "--fields names columns of one table"),
        (("--fields", "api", "--tables", "frames,names"), "--fields names columns of one table"),
        (("--fields", "api", "--tables", "bodies"), "--fields names columns of one table"),
        (("--fields", "aip", "--tables", "frames"), "frames has no column 'aip'; did you mean api?"),
        (("--fields", "day", "--tables", "frames"), "--fields names no column of frames"),
        (("--fields", ",", "--tables", "frames"), "--fields names no column of frames"),
    ],
)
def test_other_columns_are_refused(words, said, tmp_path):
    done = kwire("export", CAPTURE, "-o", tmp_path / "lake", *words)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("table", [name for name in CHOICES if name != "bodies"])
def test_every_table_has_columns_to_choose(table, tmp_path):
    column = {"names": "kind", "costs": "path"}.get(table, "file")
    inputs = (CAPTURE, SEGMENTS / "garbage-0", SAMPLES / "logs")
    assert kwire("export", *inputs, "-o", tmp_path, "--tables", table, "--fields", column).code == 0
