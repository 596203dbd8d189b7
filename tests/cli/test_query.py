"""`kwire query`: results that answers cannot have."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from kit.commands import ROOT, kwire, refusal_of
from kit.lakes import run

from kwire_cli.lake.query import Lake

ENDLESS = "select sum(a.range * b.range) as s from range(9000000) a, range(9000000) b"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A small lake."""
    folder = tmp_path_factory.mktemp("lake")
    run([ROOT / "samples" / "segments" / "garbage-0"], folder, "batches")
    return str(folder)


@pytest.mark.parametrize("value", ["timestamp 'infinity'", "date '0044-01-01 (BC)'", "timestamptz '-infinity'"])
@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_times_that_python_lacks_are_errors(lake, value, form):
    result = kwire("query", lake, f"select {value}", "--format", form)
    assert (result.code, "cast it to varchar" in result.err) == (2, True)
    assert kwire("query", lake, f"select ({value})::varchar", "--format", form).code == 0


def test_types_that_parquet_lacks_are_errors(lake):
    assert "cast it to varchar" in refusal_of("query", lake, "select [interval 1 day]", "--format", "parquet")


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_people_are_shown_the_first_rows_of_many(lake, form):
    many = "select range + 7000000 as number from range(1000000000000)"
    for top, shown in (("--top", "3"), 3), ((), 1000):
        result = kwire("query", lake, many, "--format", form, *top)
        assert len({*re.findall(r"7,?00\d,?\d{3}", result.out)}) == shown
        assert f"kwire: there are more rows than these {shown}: --top says how many to show" in result.err
    assert kwire("query", lake, "select range from range(1000)", "--format", form).err == ""


def test_json_is_written_row_by_row(lake):
    """The first rows are there before the last ones are made."""
    code = "import sys; from kwire_cli.cli.main import main; main()"
    words = [sys.executable, "-c", code, "query", lake, "select range as n from range(1000000000)", "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        lines = [running.stdout.readline().strip() for _ in range(6)]
        running.kill()
    assert lines == ["{", '"title": "kwire query",', '"tables": {', '"rows": [', "{", '"n": 0']


def test_variables_are_no_tables(lake):
    assert "Table with name self does not exist" in kwire("query", lake, "select * from self").err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_heard_before_duckdb_begins(lake):
    """The thread that DuckDB works in still does something else."""
    with Lake(Path(lake), ENDLESS) as tables:
        tables._thread.submit(time.sleep, 0.5)
        press = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        press.start()
        with pytest.raises(KeyboardInterrupt):
            tables.arrow(ENDLESS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_query(lake):
    code = "import sys, kwire_cli.lake.query; from kwire_cli.cli.main import main; print('ready'); main()"
    words = [sys.executable, "-u", "-c", code, "query", lake, ENDLESS, "--format", "table"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as running:
        try:
            assert running.stdout.readline() == "ready\n"
            time.sleep(1)
            running.send_signal(signal.SIGINT)
            _, error = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, error.strip()) == (130, "interrupted")
