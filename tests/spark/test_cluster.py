"""A standalone master and two workers of the pyspark package, on this machine: kwire reaches workers that lack it, an
executor may die, and the recipes of docs/lake.md write a lake.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from kit.commands import ROOT, kwire
from kit.lakes import content

import kwire_cli
from kwire_cli.lake import chosen
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.spark.session import BRIEF

pytestmark = pytest.mark.spark
CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
LAKE = ("bodies", "costs", "faults", "frames", "names")
WORKERS = 2
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": BRIEF,
    "spark.driver.extraJavaOptions": BRIEF,
    "spark.executor.cores": "1",
    "spark.cores.max": str(WORKERS),
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
ONE = SETTINGS | {"spark.cores.max": "1"}
"""For a recipe, which is the same for one executor and for several."""
CONF = [word for name, value in ONE.items() for word in ("--conf", f"{name}={value}")]


class Cluster:
    """The address of a master, and the folders in which its workers keep what executors write. It has room for two
    applications at once.
    """

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.master, self.folder, self.running = f"spark://127.0.0.1:{self.port}", folder, []
        self.driver = None
        self.work = [folder / f"work-{number}" for number in range(WORKERS)]

    def start(self):
        self._start("master", "master.Master", "--port", str(self.port))
        self._wait("master", "I have been elected leader")
        for work in self.work:
            self._start(
                work.name, "worker.Worker", "--cores", "2", "--memory", "1g", "--work-dir", str(work), self.master
            )
        for work in self.work:
            self._wait(work.name, "Successfully registered with master")

    def _start(self, name, program, *options):
        import pyspark

        home = Path(pyspark.__file__).parent
        settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        settings |= {"SPARK_DAEMON_JAVA_OPTS": BRIEF, "SPARK_LAUNCHER_OPTS": BRIEF}
        command = [
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{program}",
            "--host",
            "127.0.0.1",
            "--webui-port",
            "0",
            *options,
        ]
        with self._log(name).open("wb") as log:
            self.running.append(subprocess.Popen(command, env=variables() | settings, stdout=log, stderr=log))

    def _wait(self, name, said):
        until = time.monotonic() + 120
        while said not in (text := self._log(name).read_text("utf-8", "replace")):
            assert all(process.poll() is None for process in self.running), text
            assert time.monotonic() < until, text
            time.sleep(0.2)

    def _log(self, name):
        return self.folder / f"{name}.log"

    def begin(self, folder, worker_python):
        """Start a process in this folder that runs commands and jobs with one session."""
        program = Path(__file__).with_name("commands_of_a_session.py")
        self.driver = subprocess.Popen(
            [
                *map(
                    str,
                    (
                        sys.executable,
                        program,
                        self.master,
                        json.dumps(SETTINGS | {"spark.pyspark.python": str(worker_python)}),
                    ),
                )
            ],
            cwd=folder,
            env=variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words):
        """Run a command or a job where the workers, which have folders of their own, do not."""
        self.driver.stdin.write(json.dumps([*map(str, words)]) + "\n")
        self.driver.stdin.flush()
        return subprocess.CompletedProcess(words, *json.loads(self.driver.stdout.readline()))

    def end(self):
        if self.driver is not None:
            self.driver.communicate(timeout=60)
        for process in self.running[::-1]:
            process.terminate()
        for process in self.running:
            process.wait(60)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster whose processes end with the tests."""
    pytest.importorskip("pyspark")
    from kwire_cli.spark.session import check

    try:
        check()
    except kwire_cli.InputError as error:
        pytest.skip(str(error))
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python with all that kwire stands on, and without kwire."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    for installed in (Path(path) for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}):
        for each in (
            installed.iterdir()
        ):  # but the lists of more folders, where kwire may be, and these folders are among the installed
            if "kwire" not in each.name and each.suffix != ".pth" and not (own / each.name).exists():
                (own / each.name).symlink_to(each)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A working directory with something of every kind."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("captures/kafka-python-4.4.0.pcapng", "request-logs/kafka-request.log", "segments/orders-zstd-0"):
        source = ROOT / "samples" / name
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
        else:
            shutil.copy(source, folder)
    return folder


@pytest.fixture(scope="module")
def driver(cluster, bare_python, inputs):
    """A cluster whose workers have no kwire, and a driver in the folder of inputs: what does not start a driver of its
    own runs in its session.
    """
    cluster.begin(inputs, bare_python)
    return cluster


def variables():
    return {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYSPARK_PYTHON"}}


def run(*command, cwd=ROOT):
    return subprocess.run(
        [*map(str, command)], cwd=cwd, env=variables(), capture_output=True, text=True, check=False, timeout=900
    )


def test_workers_without_kwire_are_sent_it_and_relative_paths_lead_to_the_same_files(
    driver, bare_python, inputs, monkeypatch, tmp_path
):
    missing = run(bare_python, "-I", "-c", "import numba, pyarrow, pandas, pyspark, construct; import kwire_cli")
    assert missing.stderr.endswith("ModuleNotFoundError: No module named 'kwire_cli'\n")
    monkeypatch.chdir(inputs)
    given = ["*.pcapng", "kafka-request.log", f"file://{inputs}/orders-zstd-0"]
    done = driver.run("kwire", "export", *given, "-o", tmp_path / "lake", "--master", driver.master)
    assert done.returncode == 0, done.stderr
    export(given, tmp_path / "one", Wanted(chosen(None), Reading()))
    assert content(tmp_path / "lake") == content(tmp_path / "one")
    assert all(any(work.glob("app-*/*/kwire.zip")) for work in driver.work)


def test_an_executor_that_is_killed_changes_nothing(driver, tmp_path):
    if not Path("/proc/self/stat").exists():
        pytest.skip("the executor to kill is found in /proc")
    driver.run("losing_workers", tmp_path / "died", ",".join(LAKE), CAPTURE)
    export([str(CAPTURE)], tmp_path / "one", Wanted(LAKE, Reading()))
    assert content(tmp_path / "died-lake") == content(tmp_path / "one")
    assert not [*(tmp_path / "died-lake").glob("_*")]


def recipe(name, language):
    """The only block of a section of docs/lake.md in this language."""
    section = (ROOT / "docs" / "lake.md").read_text("utf-8").split(f"\n### {name}\n")[1].split("\n##")[0]
    (text,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return text


FRAMES = "select * exclude (run, capture_point, day) from frames order by all"


def frames_of(lake):
    return kwire("query", lake, FRAMES, "--format", "csv").out


@pytest.fixture(scope="module")
def environment(bare_python, tmp_path_factory):
    """A working directory with the environment of docs/lake.md, which has kwire, and its archive; and with the lake of
    one process.
    """
    import pyspark

    folder = tmp_path_factory.mktemp("environment")
    own = folder / "env"
    shutil.copytree(bare_python.parent.parent, own, symlinks=True)
    (packages,) = own.glob("lib/python*/site-packages")
    (packages / "kwire.pth").write_text(str(ROOT))
    kwire_there = own / "bin" / "kwire"
    kwire_there.write_text(f"#!{own}/bin/python\nfrom kwire_cli.cli.main import main\n\nmain()\n")
    kwire_there.chmod(0o755)
    with tarfile.open(folder / "env.tar.gz", "w:gz", compresslevel=0) as archive:
        archive.add(own, ".")
    settings = folder / "conf" / "spark-defaults.conf"
    settings.parent.mkdir()
    settings.write_text("".join(f"{name} {value}\n" for name, value in ONE.items()))
    (folder / "job.py").write_text(recipe("spark-submit", "python"))
    assert kwire("export", CAPTURE, "-o", folder / "one", "--tables", "frames,names").code == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_CONF_DIR", str(settings.parent))
        patched.setenv("PATH", f"{Path(pyspark.__file__).parent / 'bin'}{os.pathsep}{os.environ['PATH']}")
        yield folder


@pytest.mark.parametrize("name", ["Standalone", "spark-submit"])
def test_a_recipe_writes_the_lake_of_one_process(cluster, environment, name):
    lake = environment / name
    there = {"spark://master:7077": cluster.master, "/captures": str(CAPTURE), "/lake": str(lake)}
    words = [there.get(word, word) for word in shlex.split(recipe(name, "sh").replace("\\\n", " "))]
    done = run(*words, *(CONF if name == "Standalone" else ()), cwd=environment)
    assert done.returncode == 0, done.stderr
    found = frames_of(lake)
    assert found == frames_of(environment / "one")
    assert len(found.splitlines()) > 50
    assert any([*work.glob("app-*/*/env/bin/python")] for work in cluster.work)
