"""Commands that run on Spark: progress, Ctrl-C and errors.

A thread polls the status of Spark for the progress bar. Errors of Spark contain plans and traces of Java and Python, so
`explained` reduces them to one message. It prefers a kwire error in a task, which is the cause.
"""

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


_KWIRE_ERROR = re.compile(r"\bkwire_cli\.errors\.\w+: (.*)")
_CONNECTION_ERRORS = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")
"""Errors after the Java process ended."""
_JAVA_ENDED = "Spark: Java ended before it answered. If it ran out of memory, try --conf spark.driver.memory=4g"


@contextlib.contextmanager
def watched(environment: Environment, spark: SparkSession) -> Iterator[None]:
    """Show the progress of the stages that run within the context, on standard error."""
    progress = environment.progress
    over = threading.Event()
    if not progress.is_free():
        yield
        return

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(EVERY):
            with contextlib.suppress(Exception):  # progress must not fail a command
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
def _observe_interrupt() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets. The previous handler is called too."""
    pressed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
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
    """Convert errors of Spark to InputError, or to KeyboardInterrupt if Ctrl-C was pressed.

    Ctrl-C may end Java before it ends this process, which then sees a connection error.
    """
    from pyspark.logger import PySparkLogger

    for name in _LOGGERS:  # they print an error with all its traces before it is raised
        PySparkLogger.getLogger(name).disabled = True
    errors: tuple[type[Exception], ...] = (*spark_errors(), ConnectionRefusedError, ConnectionResetError)
    try:
        with _observe_interrupt() as pressed:
            yield
    except errors as error:
        if pressed.is_set():
            raise KeyboardInterrupt from None
        raise InputError(_find_kwire_error(error) or _shorten(error)) from None
    finally:
        for name in _LOGGERS:
            PySparkLogger.getLogger(name).disabled = False


def _find_kwire_error(error: Exception) -> str | None:
    """Return the message of a kwire error in a task, or None if an error has another cause."""
    # The message contains its causes only with certain settings of the session. The exception always has them.
    messages = [str(error), str(getattr(error, "_stackTrace", ""))]
    java = getattr(error, "java_exception", None)
    while java is not None:
        messages.append(str(java.toString()))
        java = java.getCause()
    match = _KWIRE_ERROR.search("\n".join(messages))
    return match[1] if match else None


def _shorten(error: Exception) -> str:
    """Return the message of an error of Spark without plans and traces."""
    if type(error).__name__ in _CONNECTION_ERRORS or "SparkContext was shut down" in str(error):
        return _JAVA_ENDED
    lines = (
        text_of(error)
        .split(";\n")[0]
        .split("\n\tat ")[0]
        .split("\n\nJVM stacktrace")[0]
        .split("\n\nDriver stacktrace")[0]
        .strip()
        .splitlines()
    )
    shown = [line for line in lines if line.strip()]
    if any(line.startswith("Traceback") for line in shown):  # the last line of a Python traceback is the error
        shown = shown[-1:]
    return "Spark: " + "\n".join(shown[:8])
