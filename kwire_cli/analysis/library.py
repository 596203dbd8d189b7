"""The library's function for questions about traffic and logs: `kwire_cli.ask`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.subjects import LOGS, TRAFFIC, add_all, with_captures
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

    from kwire_cli.answer import Answer
    from kwire_cli.source.kinds import Kind
    from kwire_cli.spec.catalog import Paths


class Question(NamedTuple):
    """A question: the fold that answers, the inputs that it is about, and whether it takes TCP connections too."""

    module: str
    fold: str
    about: Collection[Kind] = TRAFFIC | LOGS
    connections: bool = False


QUESTIONS = {
    "clients": Question("clients", "Clients", TRAFFIC),
    "diagnose": Question("diagnosis.diagnosis", "Diagnosis", connections=True),
    "groups": Question("groups.groups", "Groups"),
    "stats": Question("stats", "Stats", TRAFFIC),
    "summary": Question("summary", "Summary", connections=True),
    "transactions": Question("transactions.transactions", "Transactions"),
}
"""Questions by the names of their commands."""


def ask(
    question: str,
    *inputs: str | os.PathLike[str],
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths | None = None,
    kafka: str | None = None,
    **options: Any,
) -> Answer:
    """Ask captures, request logs or log directories a question, and return the Answer: tables and facts as data.

    Args:
        question: The name of a command: summary, diagnose, groups, transactions, stats or clients.
        inputs: Paths of files and folders, counted together.
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        specs: Definitions beside the bundled ones.
        kafka: The release whose definitions are used.
        options: Options of the fold's `answer`, such as `least="error"` for diagnose.

    Raises:
        InputError: There is no such question, an input cannot be read or is of a kind that the question is not about,
            captures and request logs are asked together, or there was nothing in any input.

    """
    if question not in QUESTIONS:
        raise InputError(f"{question!r} is no question{did_you_mean(close_to(question, QUESTIONS))}")
    asked = QUESTIONS[question]
    fold = getattr(import_module(f"kwire_cli.analysis.{asked.module}"), asked.fold)()
    how = Reading(catalog=catalog(specs, kafka), port=port, key_logs=tuple(tls_keylog), connections=asked.connections)
    files = [file for path in inputs for file in with_captures(str(path))]
    ended = getattr(fold, "end_input", None)  # of a summary, which tells the inputs too
    if not add_all(open_inputs(files, how, takes=asked.about), fold, ended=ended):
        raise InputError("there is no request of Kafka and no batch in this")
    answer: Answer = fold.answer(**options)
    return answer
