"""A Spark session for a command: embedded or on a cluster, quiet, and there as soon as can be."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.pipeline.java import check
from kwire_cli.pipeline.shipping import ship

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

LOCAL = "local[*]"
_QUIET = Path(__file__).with_name("log4j2.properties")
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What Python makes of a file has no size that Spark could know beforehand: joins are decided when both sides are there.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "10MB",
    "spark.ui.showConsoleProgress": "false",
}
_EMBEDDED = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "kwire_cli.pipeline.daemon",  # elsewhere kwire may reach workers only with the job
}
_LATE = 10
"""Java compiles code thoroughly when it has run this many times as often as it otherwise takes. What runs for seconds only would spend a third of its
time on compiling what it never needs again; what runs for long gets there soon enough."""
_DRIVER = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # other Javas than OpenJDK's
    f"-XX:Tier4InvocationThreshold={_LATE * 5000}",
    f"-XX:Tier4MinInvocationThreshold={_LATE * 600}",
    f"-XX:Tier4CompileThreshold={_LATE * 15000}",
    f"-XX:Tier4BackEdgeThreshold={_LATE * 40000}",
    f"-Dlog4j2.configurationFile={_QUIET.as_uri()}",
)
_LAUNCHER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of the Java that does nothing but put together the command of the other."""
_ENDING = 20
"""Seconds that it may take to end; Java ends with this process in any case."""
_TOLD = 2000
"""Characters of what Java said that are shown where it does not start."""


@contextlib.contextmanager
def session(master: str = LOCAL, settings: Mapping[str, str] | None = None, worker_python: str | None = None) -> Iterator[SparkSession]:
    """A session that ends with the block; where there is one in this process already, that one, which goes on.

    `settings` are Spark's own, and stronger than ours. Workers run `worker_python`, else PYSPARK_PYTHON, else the Python that runs this.

    Raises:
        InputError: Java or a package is missing, or Spark does not start: it says why.

    """
    check()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it takes long, and may be missing

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with tempfile.TemporaryFile(prefix="kwire-java-") as said:
        made = _start(master, {**_ALWAYS, **(_EMBEDDED if master.startswith("local") else {}), **(settings or {})}, worker_python, said.fileno())
        threading.Thread(target=_start_a_worker, args=(made,), daemon=True).start()
        try:
            yield made
        finally:
            # By a thread of its own, which has a connection of its own to Java: the one of this thread may wait for an answer that Ctrl-C cut.
            ending = threading.Thread(target=_stop, args=(made,), daemon=True)
            ending.start()
            ending.join(_ENDING)


def _start(master: str, settings: Mapping[str, str], worker_python: str | None, log: int) -> SparkSession:
    """Start Java, which says on file `log` what it has to say, and a session in it."""
    logging.getLogger().addHandler(logging.NullHandler())  # py4j prints what it raises, too, where nobody else takes it
    meanwhile = threading.Thread(target=_import_what_comes_next, daemon=True)
    meanwhile.start()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped] # noqa: PLC0415 - as above
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    python = worker_python or settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python  # SparkContext looks nowhere else
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("kwire scan")
    conf.setAll([*settings.items()])
    conf.set("spark.driver.extraJavaOptions", " ".join((*_DRIVER, settings.get("spark.driver.extraJavaOptions", ""))).strip())
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _LAUNCHER)
    try:
        gateway = launch_gateway(conf, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
        interrupted = signal.getsignal(signal.SIGINT)
        context = SparkContext(conf=conf, gateway=gateway)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupted)  # PySpark's own handler speaks to Java in the middle of what is said
        made = SparkSession.builder.config(conf=context.getConf()).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise InputError(f"Spark does not start on {master}: {_cause(error)}{_said(log)}") from None
    meanwhile.join()
    ship(made.sparkContext)
    return made


def _import_what_comes_next() -> None:
    """While Java starts, there is time for it."""
    with contextlib.suppress(ImportError):
        import kwire_cli.pipeline.named  # noqa: F401, PLC0415


def _stop(spark: SparkSession) -> None:
    """End it, with all that still runs in it."""
    with contextlib.suppress(Exception):  # it ends in any case, and what was found is found
        spark.sparkContext.cancelAllJobs()
        spark.stop()


def _start_a_worker(spark: SparkSession) -> None:
    """While the query is planned, there is time for it."""
    with contextlib.suppress(Exception):  # if there is anything wrong, the query will say it
        spark.range(1).mapInArrow(lambda batches: batches, "id bigint").collect()


def _cause(error: Exception) -> str:
    """The first line that says something."""
    return text_of(error).strip().split("\n", 1)[0]


def text_of(error: Exception) -> str:
    """All that an error of Spark or py4j says: where Java raised it, what Java says."""
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString())


def _said(log: int) -> str:
    """The end of what Java said, if anything."""
    size = os.lseek(log, 0, os.SEEK_END)
    text = os.pread(log, _TOLD, max(0, size - _TOLD)).decode("utf-8", "replace").strip()
    return f"\n{text}" if text else ""
