"""The library's functions for questions about traffic and logs: `kwire_cli.ask`, and one for each question.

A question is a fold: a class that reads all subjects of inputs and then answers. This module is imported when a
question is used, which keeps `import kwire_cli` fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.groups.groups import Groups
from kwire_cli.analysis.ladder import Ladder
from kwire_cli.analysis.stats import Stats
from kwire_cli.analysis.subjects import LAKES, LOGS, TRAFFIC, ask_inputs
from kwire_cli.analysis.summary import Summary
from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Sequence
    from typing import TypeAlias, Unpack

    from kwire_cli.answer import Answer
    from kwire_cli.questions.rule_files import Severity
    from kwire_cli.source.kinds import Kind
    from kwire_cli.spec.catalog import Paths

    Input: TypeAlias = str | os.PathLike[str]


class Question(NamedTuple):
    """A question: the class that answers it, the inputs that it is about, and whether TCP connections count."""

    fold: Callable[[Redaction], Any]
    about: Collection[Kind] = TRAFFIC | LOGS | LAKES
    connections: bool = False


QUESTIONS = {
    "clients": Question(Clients, TRAFFIC | LAKES),
    "diagnose": Question(Diagnosis, connections=True),
    "groups": Question(Groups),
    "sequence": Question(Ladder, TRAFFIC),
    "stats": Question(Stats, TRAFFIC | LAKES),
    "summary": Question(Summary, connections=True),
    "transactions": Question(Transactions),
}
"""Questions by the names of their commands."""


def ask(
    question: str,
    *inputs: Input,
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths = (),
    **options: Any,
) -> Answer:
    """Ask captures, request logs or log directories a question, and return the Answer: tables and facts as data.

    Args:
        question: The name of a command: summary, diagnose, groups, transactions, sequence, stats or clients.
        inputs: Paths of files and folders, counted together.
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        options: Arguments of the method `answer`, such as `least="error"` for diagnose.

    Raises:
        InputError: The question is unknown, an input cannot be read or its kind does not fit the question, captures
            and request logs are combined, or all inputs are empty.

    """
    if question not in QUESTIONS:
        hint = did_you_mean(close_to(question, QUESTIONS)) or f"; questions are {', '.join(QUESTIONS)}"
        raise InputError(f"{question!r} is no question{hint}")
    entry = QUESTIONS[question]
    definitions = catalog(specs)
    fold = entry.fold(Redaction(definitions))
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog), connections=True)
    opened = open_inputs([str(path) for path in inputs], how, takes=entry.about)
    return ask_inputs(opened, fold, options, connections=entry.connections)


class Ways(TypedDict, total=False):
    """The arguments of all questions. `ask` documents them."""

    port: int | None
    tls_keylog: Sequence[str]
    specs: Paths


def summary(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return the contents of captures, request logs and log directories, like `kwire FILE`."""
    return ask("summary", *inputs, **ways)


def diagnose(*inputs: Input, least: Severity = "info", **ways: Unpack[Ways]) -> Answer:
    """Return the problems and their remedies, like `kwire diagnose`. `least` is the lowest severity of findings."""
    return ask("diagnose", *inputs, least=least, **ways)


def stats(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return requests, bytes, latencies and errors by api, client, topic and broker, like `kwire stats`."""
    return ask("stats", *inputs, **ways)


def clients(
    *inputs: Input, upgrade_to: str | None = None, upgrade_from: str | None = None, **ways: Unpack[Ways]
) -> Answer:
    """Return the clients of brokers, and those that a Kafka release would refuse, like `kwire clients --to`."""
    return ask("clients", *inputs, upgrade_to=upgrade_to, upgrade_from=upgrade_from, **ways)


def groups(*inputs: Input, names: Sequence[str] = (), **ways: Unpack[Ways]) -> Answer:
    """Return the members that join and leave groups, and the reasons, like `kwire groups`.

    With `names`, return only the groups with these names.
    """
    return ask("groups", *inputs, names=tuple(names), **ways)


def transactions(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return transactions, their events, and the partitions that they block, like `kwire transactions`."""
    return ask("transactions", *inputs, **ways)


def sequence(*inputs: Input, **ways: Unpack[Ways]) -> Answer:
    """Return the requests and responses between clients and brokers in order, like `kwire sequence`."""
    return ask("sequence", *inputs, **ways)
