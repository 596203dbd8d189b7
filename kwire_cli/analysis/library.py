"""The library's functions for questions about traffic and logs: `kwire_cli.ask`, and one for each question."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from kwire_cli.analysis.subjects import LOGS, TRAFFIC, add_all
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence
    from typing import TypeAlias, Unpack

    from kwire_cli.answer import Answer
    from kwire_cli.questions.rule_files import Severity
    from kwire_cli.source.kinds import Kind
    from kwire_cli.spec.catalog import Paths

    Input: TypeAlias = str | os.PathLike[str]


class Question(NamedTuple):
    """A question: the class that answers it, the inputs that it is about, and whether TCP connections count."""

    module: str
    name: str
    about: Collection[Kind] = TRAFFIC | LOGS
    connections: bool = False


QUESTIONS = {
    "clients": Question("clients", "Clients", TRAFFIC),
    "diagnose": Question("diagnosis.diagnosis", "Diagnosis", connections=True),
    "groups": Question("groups.groups", "Groups"),
    "sequence": Question("ladder", "Ladder", TRAFFIC),
    "stats": Question("stats", "Stats", TRAFFIC),
    "summary": Question("summary", "Summary", connections=True),
    "transactions": Question("transactions.transactions", "Transactions"),
}
"""Questions by the names of their commands."""


def ask(
    question: str,
    *inputs: Input,
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths | None = None,
    kafka: str | None = None,
    **options: Any,
) -> Answer:
    """Ask captures, request logs or log directories a question, and return the Answer: tables and facts as data.

    Args:
        question: The name of a command: summary, diagnose, groups, transactions, sequence, stats or clients.
        inputs: Paths of files and folders, counted together.
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        specs: Definitions beside the bundled ones.
        kafka: The release whose definitions are used.
        options: Arguments of the method `answer`, such as `least="error"` for diagnose.

    Raises:
        InputError: There is no such question, an input cannot be read or is of a kind that the question is not about,
            captures and request logs are asked together, or there was nothing in any input.

    """
    if question not in QUESTIONS:
        hint = did_you_mean(close_to(question, QUESTIONS)) or f"; questions are {', '.join(QUESTIONS)}"
        raise InputError(f"{question!r} is no question{hint}")
    asked = QUESTIONS[question]
    definitions = catalog(specs, kafka)
    fold = getattr(import_module(f"kwire_cli.analysis.{asked.module}"), asked.name)(Redaction(definitions))
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog), connections=True)
    opened = open_inputs([str(path) for path in inputs], how, takes=asked.about)
    add_all(opened, fold, connections=asked.connections)
    answer: Answer = fold.answer(**options)
    return answer.read()


class Ways(TypedDict, total=False):
    """The arguments of all questions, as `ask` explains them."""

    port: int | None
    tls_keylog: Sequence[str]
    specs: Paths | None
    kafka: str | None


def summary(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return what captures, request logs and log directories hold, as `kwire FILE` does."""
    return ask("summary", *inputs, **ways)


def diagnose(*inputs: Input, least: Severity = "info", **ways: Unpack[Ways]) -> Answer:
    """Return what is wrong and what to do, as `kwire diagnose` does; findings of at least this severity."""
    return ask("diagnose", *inputs, least=least, **ways)


def stats(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return requests, bytes, latencies and errors by api, client, topic and broker, as `kwire stats` does."""
    return ask("stats", *inputs, **ways)


def clients(
    *inputs: Input, upgrade_to: str | None = None, upgrade_from: str | None = None, **ways: Unpack[Ways]
) -> Answer:
    """Return who speaks to the brokers, and whom brokers of a release would refuse, as `kwire clients --to` does."""
    return ask("clients", *inputs, upgrade_to=upgrade_to, upgrade_from=upgrade_from, **ways)


def groups(*inputs: Input, names: Sequence[str] = (), **ways: Unpack[Ways]) -> Answer:
    """Return who joins and leaves groups, and why, as `kwire groups` does; only these groups if there are names."""
    return ask("groups", *inputs, names=tuple(names), **ways)


def transactions(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return transactions, what they hold back, and their events, as `kwire transactions` does."""
    return ask("transactions", *inputs, **ways)


def sequence(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return who sends what to whom, as `kwire sequence` does."""
    return ask("sequence", *inputs, **ways)
