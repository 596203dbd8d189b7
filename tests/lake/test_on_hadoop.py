"""A lake on a real Hadoop file system: by its own protocol over HTTP, which needs no library of Hadoop."""

import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest
from kit.captures import SAMPLES
from kit.commands import kwire
from kit.lakes import content

from kwire_cli.lake import chosen, writing
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.stores import path_of

pytestmark = pytest.mark.spark

JARS = Path(pyspark.__path__[0]) / "jars"
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
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{cluster_jar()}:{JARS}/*"]
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


def test_a_lake_on_hadoop_is_that_in_a_folder(hadoop, tmp_path):
    lake, asked = (
        f"{hadoop[0]}/lake",
        ("export", SAMPLES / "captures" / "ipv6.pcap", SAMPLES / "captures" / "midstream.pcap"),
    )
    assert kwire(*asked[:-1], "-o", lake).code == 0
    done = kwire(*asked, "-o", lake)
    assert (done.code, "1 input file unchanged" in done.err or "2 input files," in done.err) == (0, True)
    assert kwire(*asked, "-o", tmp_path / "lake").code == 0
    assert content(lake) == content(tmp_path / "lake")
    assert not [path.name for path in path_of(lake).iterdir() if path.name.startswith("_")]


def test_a_journal_is_carried_out_on_hadoop(hadoop, tmp_path, monkeypatch):
    lake, moved, move = f"{hadoop[0]}/journal", [], writing.move

    def failing(source, target):
        if len(moved) == 3:
            raise ZeroDivisionError
        moved.append(target)
        return move(source, target)

    monkeypatch.setattr(writing, "move", failing)
    monkeypatch.setattr(writing, "remove_tree", lambda _: None)
    with pytest.raises(ZeroDivisionError):
        export([str(SAMPLES / "captures" / "ipv6.pcap")], path_of(lake), Wanted(chosen(None), Reading()))
    monkeypatch.undo()
    for folder in (lake, tmp_path / "lake"):
        kwire("export", SAMPLES / "captures" / "ipv6.pcap", "-o", folder)
    assert content(lake) == content(tmp_path / "lake")


def test_hadoop_without_its_library_says_what_works(hadoop):
    done = kwire("query", f"{hadoop[1]}/lake", "select 1")
    if done.code == 0:
        pytest.skip("libhdfs is there")
    assert done.err.count("\n") == 1
    assert "webhdfs://" in done.err
