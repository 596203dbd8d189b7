"""Lakes of Delta and Iceberg are the lake in files: replaced by units, whatever is killed; nothing else reads them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import kwire

pytest.importorskip("duckdb")
pytest.importorskip("numba")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyspark

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake import TABLES, chosen
from kwire_cli.pipeline.lake.writing import LOGS
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.table_formats import JARS, jar_for

pytestmark = pytest.mark.numba

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "samples"
SPARK = ".".join(pyspark.__version__.split(".")[:2])
KNOWN = [form for form in TABLES if SPARK in JARS[form][1]]


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    """What a Spark with the jars of all formats that know it printed, by format and look."""
    if not KNOWN:
        known = ", ".join(f"{form} knows Spark {' and '.join(versions)}" for form, (_, versions) in JARS.items())
        pytest.skip(f"there is no jar for Spark {SPARK}: {known}")
    program, folder = Path(__file__).with_name("tables_of_formats.py"), tmp_path_factory.mktemp("formats")
    done = subprocess.run(
        [sys.executable, program, folder, SAMPLES, *KNOWN], capture_output=True, text=True, check=False, timeout=600
    )
    if "unresolved dependency" in done.stderr + done.stdout:
        pytest.skip("the jars cannot be downloaded")
    assert done.returncode == 0, done.stderr[-4000:]
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(each["form"], each["look"]): each for each in said}


@pytest.mark.spark
@pytest.mark.parametrize("form", TABLES)
def test_a_lake_of_tables_is_the_lake_in_files(looks, form):
    if form not in KNOWN:
        pytest.skip(f"{form} knows no Spark {SPARK}")
    first, second, third = (looks[form, name] for name in ("first", "second", "third"))
    assert all(look["same"] for look in (first, second, third))
    assert not any(look["hidden"] for look in (first, second, third))
    assert (first["read"], first["known"]) == (2, 0)
    assert set(first["rows"]) == {"frames", "names", "records"}
    assert looks[form, "failed"]["same"]  # nothing was visible of a run that wrote all files, and no more
    assert (second["read"], second["known"]) == (2, 1)  # the run before it replaced all tables but `inputs`
    assert (third["read"], third["known"]) == (0, 3)
    others = looks[form, "others"]  # of a partition alone, whose rows are with those of another one
    assert (others["same"], others["read"], others["known"]) == (True, 1, 0)
    assert f"tables of {form}, which kwire query does not read: Spark does" in looks[form, "query"]["error"]
    assert looks[form, "other"]["error"] == f"this has tables of {form}: write into another folder"


@pytest.mark.spark
@pytest.mark.parametrize("form", TABLES)
def test_a_missing_jar_is_one_line(spark, tmp_path, form):
    from kwire_cli.pipeline.into import scan_into

    with pytest.raises(InputError) as raised:
        scan_into(spark, [str(SAMPLES / "captures")], tmp_path / "lake", Wanted(chosen(None), Reading()), form=form)
    assert raised.value.reason.startswith(f"--out-format {form} needs a jar: ")
    assert f"--conf spark.jars.packages={JARS[form][0].partition('{')[0]}" in raised.value.reason
    assert "\n" not in raised.value.reason
    assert not (tmp_path / "lake").exists()


def test_which_jar_is_named():
    assert jar_for("delta", "4.2.1") == "--conf spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0"
    assert jar_for("iceberg", "4.9.0").startswith("none is known for Spark 4.9; with pyspark==4.1.*: --conf spark.jars")


@pytest.mark.parametrize("form", TABLES)
def test_tables_and_files_are_not_mixed(tmp_path, form):
    (tmp_path / "tables" / "frames" / LOGS[form]).mkdir(parents=True)
    done = kwire("query", tmp_path / "tables", "select 1")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"tables of {form}, which kwire query does not read" in done.err
    asked = ("export", SAMPLES / "captures" / "ipv6.pcap", "--into")
    assert f"this has tables of {form}: write into another folder" in kwire(*asked, tmp_path / "tables").err
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"frames"}


@pytest.mark.spark
def test_files_are_not_mixed_with_tables(spark, tmp_path):
    from kwire_cli.pipeline.into import scan_into

    kwire("export", SAMPLES / "captures" / "ipv6.pcap", "--into", tmp_path / "files", "--tables", "names")
    for place, why in ((tmp_path / "files", "this has files: write into another folder"),):
        with pytest.raises(InputError, match=why):
            scan_into(spark, [str(SAMPLES / "captures")], place, Wanted(chosen(None), Reading()), form="delta")
