"""`kwire query`: results that answers cannot have."""

import pytest
from command_line import kwire

pytest.importorskip("duckdb")
pytest.importorskip("numba")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq


@pytest.fixture
def lake(tmp_path):
    """A lake with one empty table."""
    folder = tmp_path / "names" / "capture_point=x"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"kind": pa.array([], pa.string())}), folder / "0.parquet")
    return str(tmp_path)


@pytest.mark.parametrize("value", ["timestamp 'infinity'", "date '0044-01-01 (BC)'", "timestamptz '-infinity'"])
@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_times_that_python_lacks_are_errors(lake, value, form):
    result = kwire("query", lake, f"select {value}", "--format", form)
    assert result.code == 2
    assert "cast it to varchar" in result.err
    assert kwire("query", lake, f"select ({value})::varchar", "--format", form).code == 0


def test_types_that_parquet_lacks_are_errors(lake):
    result = kwire("query", lake, "select [interval 1 day]", "--format", "parquet")
    assert result.code == 2
    assert "cast it to varchar" in result.err
