"""Start a Spark session: look for Java, start it, and send kwire to the workers.

A command needs Spark only for --master, and starting it takes seconds. So the check for Java reads a file in place of
starting a Java, the modules of the export are imported while Java starts, and a first worker starts while the query is
planned.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import marshal
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from concurrent.futures import Future
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.lake.safe_path import SAFE_PATH, keep_current_folder_out
from kwire_cli.spec.files import package_folder, specs_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql import SparkSession


# Whether Spark can run here: its Python packages, and a Java that is new enough.

OLDEST = 17
"""Spark 4 runs on no older Java."""


PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "numba")
HOW = (
    f"install Java {OLDEST} or newer (apt install openjdk-17-jre-headless on Debian and Ubuntu), or "
    f"set JAVA_HOME to where it is"
)
_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)')


def check(variables: Mapping[str, str] = os.environ) -> None:
    """Raise InputError if Java or a package that Spark needs is missing. The error names it and how to install it."""
    if (version := java_version(variables)) is not None and version < OLDEST:
        raise InputError(f"Spark needs Java {OLDEST} or newer, and {_java(variables)} is Java {version}: {HOW}")
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"Spark is needed for this, and {', '.join(missing)} {verb} not installed: pip install 'kwire[spark]'"
        )


def java_version(variables: Mapping[str, str] = os.environ) -> int | None:
    """Return the feature version of the Java that Spark would run, such as 17, or None if its version is unknown.

    Raises:
        InputError: There is no Java.

    """
    java = _java(variables)
    release = Path(java).resolve().parent.parent / "release"  # starting a Java takes longer
    try:
        text = release.read_text("utf-8", "replace")
    except OSError:
        try:
            text = subprocess.run([java, "-version"], capture_output=True, check=False, text=True, timeout=60).stderr  # noqa: S603 - the user's Java
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"Spark needs Java, and {java} does not run ({error}): {HOW}") from None
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _java(variables: Mapping[str, str]) -> str:
    """Return the program that Spark's scripts run: the Java of JAVA_HOME, else the first one on PATH."""
    home = variables.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=variables.get("PATH"))
    if not java or (home and not Path(java).exists()):
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no Java on PATH"
        raise InputError(f"Spark needs Java, and {where}: {HOW}")
    return java


# Workers of a cluster need the packages that kwire imports. They need not have kwire, or the same version of it: the
# job brings it.

PACKAGE = Path(package_folder())


def ship(context: SparkContext) -> None:
    """Send this kwire to the workers of a cluster, unless the job has its own (`--py-files kwire.zip`)."""
    brought: list[str] = context._python_includes or []  # noqa: SLF001 - nothing else names them
    if (
        not str(context.master).startswith("local")
        and PACKAGE.is_dir()
        and not any(name.startswith("kwire") for name in brought)
    ):
        context.addPyFile(str(pack(Path(_folder().name) / "kwire.zip")))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that exists until this process ends: workers may fetch files from it at any time."""
    return tempfile.TemporaryDirectory(prefix="kwire-shipped-")


def pack(path: Path) -> Path:
    """Write the package as a zip that Python can import, with the specs in it as in a wheel.

    Each module has its compiled code next to it, so that workers with the same Python need not compile it.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed:
        specs = Path(specs_folder())
        folders = {PACKAGE: PACKAGE.name}
        if not specs.is_relative_to(PACKAGE):
            folders[specs] = f"{PACKAGE.name}/specs"
        for folder, name in folders.items():
            for file in sorted(folder.rglob("*")):
                if not file.is_file() or "__pycache__" in file.parts:
                    continue
                inside = f"{name}/{file.relative_to(folder)}"
                packed.write(file, inside)
                if file.suffix == ".py":
                    packed.writestr(f"{inside}c", _compiled(file))
    return path


def _compiled(file: Path) -> bytes:
    """Return the bytes of the .pyc file of a module. Python does not compare its time with the time of the module."""
    code = SourceFileLoader(file.stem, str(file)).get_code(file.stem)
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(file.read_bytes()) + marshal.dumps(code)


# A Spark session for a command: embedded or on a cluster, quiet, and started quickly.

_QUIET = Path(__file__).absolute().with_name("log4j2.properties")
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Spark cannot know the size of rows that Python reads from a file: it chooses a join when it has both sides.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "10MB",
    "spark.ui.showConsoleProgress": "false",
    **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
}
_EMBEDDED = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "kwire_cli.spark.daemon",  # elsewhere kwire may reach workers only with the job
}
_LATE = 10
"""Factor on the number of calls after which Java's second compiler takes a method. Commands of some seconds would spend
a third of their time in that compiler, and long ones reach the higher number soon."""
_DRIVER = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # other Javas than OpenJDK's
    f"-XX:Tier4InvocationThreshold={_LATE * 5000}",
    f"-XX:Tier4MinInvocationThreshold={_LATE * 600}",
    f"-XX:Tier4CompileThreshold={_LATE * 15000}",
    f"-XX:Tier4BackEdgeThreshold={_LATE * 40000}",
    f"-Dlog4j2.configurationFile={_QUIET.as_uri()}",
)
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java that runs briefly, such as the launcher that prints the command of the driver's Java."""
_ENDING = 20
"""Seconds to wait for the end of the session. Java ends with this process in any case."""
_TOLD = 2000
"""Characters of Java's output in the error if Java does not start."""


@contextlib.contextmanager
def session(master: str, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yield a session that ends with the block. If this process has a session already, yield it and do not stop it.

    `settings` are options of Spark and override the defaults here. Workers run `spark.pyspark.python`, else
    PYSPARK_PYTHON, else this Python.

    Raises:
        InputError: Java or a package is missing, or Spark does not start. The error has the cause.

    """
    check()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it takes long, and may be missing

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with tempfile.TemporaryFile(prefix="kwire-java-") as said:
        spark = _start(
            master,
            {**_ALWAYS, **(_EMBEDDED if master.startswith("local") else {}), **(settings or {})},
            said.fileno(),
        )
        threading.Thread(target=_start_a_worker, args=(spark,), daemon=True).start()
        try:
            yield spark
        finally:
            # A separate thread has a separate connection to Java. The connection of this thread may wait for an answer
            # that Ctrl-C interrupted.
            ending = threading.Thread(target=_stop, args=(spark,), daemon=True)
            ending.start()
            ending.join(_ENDING)


def _start(master: str, settings: Mapping[str, str], log: int) -> SparkSession:
    """Start Java, with its output in the file descriptor `log`, and a session in it."""
    logging.getLogger().addHandler(logging.NullHandler())  # else py4j prints the errors that it raises
    meanwhile = threading.Thread(target=_import_export, daemon=True)
    meanwhile.start()
    import pyspark  # noqa: PLC0415
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    python = settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python  # SparkContext reads only this
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("kwire")
    conf.setAll([*settings.items()])
    conf.set(
        "spark.driver.extraJavaOptions", " ".join((*_DRIVER, settings.get("spark.driver.extraJavaOptions", ""))).strip()
    )
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", BRIEF)
    keep_current_folder_out()
    if (home := Path(pyspark.__file__).parent).joinpath("bin", "spark-submit").exists():
        os.environ.setdefault("SPARK_HOME", str(home))  # PySpark would look for it above the current folder first
    errors: tuple[type[Exception], ...] = (*spark_errors(), OSError)
    try:
        gateway = launch_gateway(conf, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
        context = _in_thread(lambda: SparkContext(conf=conf, gateway=gateway))
        spark = SparkSession.builder.config(conf=context.getConf()).getOrCreate()
    except errors as error:
        raise InputError(f"Spark does not start on {master}: {_cause(error)}{_output(log)}") from None
    meanwhile.join()
    ship(spark.sparkContext)
    return spark


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the errors that Spark raises, and its connection to Java."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped] # noqa: PLC0415 - as pyspark
    from pyspark.errors import PySparkException  # noqa: PLC0415 - it takes long, and may be missing

    return PySparkException, Py4JError


def _in_thread(create: Callable[[], SparkContext]) -> SparkContext:
    """Return the context that `create` makes in another thread.

    In the main thread, PySpark replaces the handler of SIGINT. Its handler calls Java while an answer of Java is being
    read, so that Ctrl-C would end in an error of the connection instead of an interruption.
    """
    created: Future[SparkContext] = Future()

    def run() -> None:
        try:
            created.set_result(create())
        except Exception as error:  # noqa: BLE001 - `result` raises it again
            created.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return created.result()


def _import_export() -> None:
    """Import the export while Java starts."""
    with contextlib.suppress(ImportError):
        import kwire_cli.spark.export  # noqa: F401, PLC0415


def _stop(spark: SparkSession) -> None:
    """Stop the session and its jobs."""
    with contextlib.suppress(Exception):  # Java ends with this process in any case
        spark.sparkContext.cancelAllJobs()
        spark.stop()


def _start_a_worker(spark: SparkSession) -> None:
    """Start a worker while the query is planned."""
    with contextlib.suppress(Exception):  # the query will raise the same error
        spark.range(1).mapInArrow(lambda batches: batches, "id bigint").collect()


def _cause(error: Exception) -> str:
    """Return the first line of the text of an error."""
    return text_of(error).strip().split("\n", 1)[0]


def text_of(error: Exception) -> str:
    """Return the text of an error of Spark or py4j: Java's text if Java raised the error."""
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString())


def _output(log: int) -> str:
    """Return the end of Java's output, or nothing."""
    size = os.lseek(log, 0, os.SEEK_END)
    text = os.pread(log, _TOLD, max(0, size - _TOLD)).decode("utf-8", "replace").strip()
    return f"\n{text}" if text else ""
