"""Commands that run on Spark: their options, progress, Ctrl-C and errors.

`in_tasks` has tasks of Spark do works of a command that are independent of each other. A thread polls the status of
Spark for the progress bar. Errors of Spark contain plans and traces of Java and Python, so `explained` reduces them to
one message. It prefers a kwire error in a task, which is the cause.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from kwire_cli.cli.progress import EVERY
from kwire_cli.cli.typed_options import Printing, option, refuse
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from pyspark.sql import SparkSession

    from kwire_cli.cli.environment import Environment


T = TypeVar("T")


class OnSpark(Printing):
    """Options for running on Spark."""

    SECTION: ClassVar[str] = "Advanced"

    master: str | None = option(
        "--master", metavar="URL", help="Use Spark with this master, such as local[*].  [default: no Spark]"
    )
    conf: tuple[str, ...] = option(
        "--conf", rare=True, multiple=True, metavar="K=V", help="Set an option of Spark; repeatable."
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.master is None:
            refuse(self, ("conf",), "is for Spark: add --master URL")

    @contextlib.contextmanager
    def session(self, environment: Environment) -> Iterator[SparkSession]:
        """Yield a session with the settings of --conf, and show its progress. Errors become InputError."""
        from kwire_cli.spark.session import session

        settings = dict(map(_parse_setting, self.conf))
        with session(self.master or "", settings) as spark, explained(), watched(environment, spark):
            yield spark


def _parse_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.UsageError(f"--conf takes a setting of Spark, such as spark.driver.memory=4g, not {text!r}")
    return name, value


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

    from kwire_cli.spark.session import spark_errors

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
    from kwire_cli.spark.session import text_of

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


def in_tasks(
    environment: Environment, options: OnSpark, count: int, fold: Callable[[Iterable[int]], list[T]]
) -> Iterator[T]:
    """Yield the results of `fold` over the numbers below `count`, in order. A task takes one number or several."""
    with options.session(environment) as spark:
        from kwire_cli.spark.export import folded

        results = folded(spark, count, fold)
    yield from chain.from_iterable(results)
