"""Tables on a real Hadoop file system: by its own protocol over HTTP, which needs no library of Hadoop."""

import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from kit.captures import SAMPLES
from kit.commands import kwire

from kwire_cli.spark.session import BRIEF
from kwire_cli.stores.paths import path_of
from kwire_cli.stores.writing import below

pytestmark = pytest.mark.spark

JARS = Path(pyspark.__path__[0]) / "jars"
NEEDED = ("hadoop-client-", "slf4j-api", "log4j-", "jcl-")
"""Jars that Hadoop's small cluster needs; to look into all others takes longer than to start it."""
ORDERS = "orders-zstd-0"
NAME = "hadoop-client-minicluster"


def cluster_jar():
    """Return the jar of Hadoop's small cluster for the Hadoop that Spark has, as Maven keeps it."""
    (client,) = JARS.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    jar = Path.home() / ".m2" / "repository" / "org" / "apache" / "hadoop" / NAME / version / f"{NAME}-{version}.jar"
    if not jar.exists():
        if not shutil.which("mvn"):
            pytest.skip(f"there is no {jar}, and no mvn that downloads it")
        artifact = f"-Dartifact=org.apache.hadoop:{NAME}:{version}"
        command = ["mvn", "-q", "-B", "dependency:get", artifact, "-Dtransitive=false"]
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            pytest.skip(f"{jar.name} cannot be downloaded")
    return jar


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory):
    """The URLs of a file system of Hadoop: over HTTP, and as Hadoop's own clients have it."""
    if not shutil.which("javac"):
        pytest.skip("no javac")
    jars = [cluster_jar(), *(jar for name in NEEDED for jar in JARS.glob(f"{name}*.jar"))]
    command = ["java", *BRIEF.split(), "-cp", os.pathsep.join(map(str, jars))]
    command += [Path(__file__).with_name("Hadoop.java"), tmp_path_factory.mktemp("hadoop")]
    running = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        ready = next((line for line in running.stdout if line.startswith("READY")), None)
        assert ready
        _, native, http = ready.split()
        yield f"webhdfs://127.0.0.1:{http}", f"hdfs://127.0.0.1:{native}"
    finally:
        running.stdin.close()
        running.wait(60)
        running.stdout.close()


def test_files_on_hadoop_are_those_in_a_folder(hadoop, tmp_path):
    asked = ("export", SAMPLES / "captures" / "ipv6.pcap", "--tables", "frames,names", "--out-format", "parquet", "-o")
    assert kwire(*asked, f"{hadoop[0]}/tables").code == 0
    assert kwire(*asked, tmp_path / "tables").code == 0
    there = path_of(f"{hadoop[0]}/tables")
    names = below(there)
    assert [name.rpartition("/")[0] for name in names] == ["frames/day=2026-11-21", "names"]
    for name in names:
        (own,) = (tmp_path / "tables" / name).parent.iterdir()
        data = pa.BufferReader((there / name).read_bytes())
        assert pq.read_table(data) == pq.read_table(own, partitioning=None)


def test_a_lake_cannot_be_on_hadoop(hadoop):
    done = kwire("export", SAMPLES / "captures" / "ipv6.pcap", "-o", f"{hadoop[0]}/lake")
    assert (done.code, "add --out-format parquet" in done.err) == (2, True)


def test_hadoop_without_its_library_says_what_works(hadoop):
    done = kwire("query", f"{hadoop[1]}/lake", "select 1")
    if done.code == 0:
        pytest.skip("libhdfs is there")
    assert done.err.count("\n") == 1
    assert "webhdfs://" in done.err
