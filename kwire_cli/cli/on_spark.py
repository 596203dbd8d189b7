"""Commands that run on Spark: how far its stages are, Ctrl-C, and its errors as kwire's own."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from typing import TYPE_CHECKING

from kwire_cli.cli.progress import EVERY
from kwire_cli.errors import InputError
from kwire_cli.spark.session import spark_errors, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from pyspark.sql import SparkSession

    from kwire_cli.cli.environment import Environment

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


_OWN = re.compile(r"\bkwire_cli\.errors\.\w+: (.*)")
_ENDED = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")
"""Errors of the connection to a Java that ended."""
_MORE = "Spark: Java ended before it answered. If it ran out of memory, try --conf spark.driver.memory=4g"


@contextlib.contextmanager
def watched(environment: Environment, spark: SparkSession) -> Iterator[None]:
    """Say on standard error how far the stages are that run in the block."""
    progress, over = environment.progress, threading.Event()
    if not progress.is_free():
        yield
        return

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(EVERY):
            with contextlib.suppress(Exception):  # whatever it is: it is only about progress
                for stage in tracker.getActiveStageIds():
                    if info := tracker.getStageInfo(stage):
                        progress.tell(f"stage {stage}", info.numCompletedTasks, info.numTasks, "tasks")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        progress.done()


@contextlib.contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """Yield what is set once Ctrl-C was pressed, which does in the block what it did before."""
    pressed, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        before(number, frame)

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark as our own: what is wrong with a query, a folder, a worker. What fails after Ctrl-C was pressed
    is no error: Java may end before this process has heard of it.
    """
    from pyspark.logger import PySparkLogger

    for name in _LOGGERS:  # which print an error and all its traces before anybody can say it
        PySparkLogger.getLogger(name).disabled = True
    errors: tuple[type[Exception], ...] = (*spark_errors(), ConnectionRefusedError, ConnectionResetError)
    try:
        with _interruptions() as pressed:
            yield
    except errors as error:
        if pressed.is_set():
            raise KeyboardInterrupt from None
        raise InputError(_own(error) or _text(error)) from None
    finally:
        for name in _LOGGERS:
            PySparkLogger.getLogger(name).disabled = False


def _own(error: Exception) -> str | None:
    """Return the text of a kwire error in a task, however deep in Spark's text. None if there is no such error."""
    # The text of an error has its traces, and so its causes, only where the session is set so; the error has them.
    told, java = [str(error), str(getattr(error, "_stackTrace", ""))], getattr(error, "java_exception", None)
    while java is not None:
        told.append(str(java.toString()))
        java = java.getCause()
    match = _OWN.search("\n".join(told))
    return match[1] if match else None


def _text(error: Exception) -> str:
    """Return Spark's text of an error without its plans and traces."""
    if type(error).__name__ in _ENDED or "SparkContext was shut down" in str(error):
        return _MORE
    lines = (
        text_of(error)
        .split(";\n")[0]
        .split("\n\tat ")[0]
        .split("\n\nJVM stacktrace")[0]
        .split("\n\nDriver stacktrace")[0]
        .strip()
        .splitlines()
    )
    told = [line for line in lines if line.strip()]
    if any(line.startswith("Traceback") for line in told):  # of a task: its last line is the error
        told = told[-1:]
    return "Spark: " + "\n".join(told[:8])
