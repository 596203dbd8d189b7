"""Compare the traffic of clients in two captures or request logs, for `kwire diff`.

Each input is reduced to the `Profiles` of its clients, which are then compared. Two captures with a single frame each
are compared as messages instead.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, cast

import click

from kwire_cli.analysis.comparison.profiles import Profiles
from kwire_cli.analysis.comparison.traffic import traffic_answer
from kwire_cli.analysis.subjects import LAKES, TRAFFIC
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.typed_options import given, option
from kwire_cli.errors import InputError, without_credentials
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Caller, nothing_in
from kwire_cli.source.recognition import recognise
from kwire_cli.stores.paths import exists

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kwire_cli.analysis.comparison.profiles import By
    from kwire_cli.answer import Answer
    from kwire_cli.cli.diff_messages import DiffedMessages
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.reading import Opened

_MESSAGE_OPTIONS = ("message", "version", "api", "kind", "framed", "ignore")
"""Options that only messages support."""


def by_option() -> Any:
    """Declare --by, the groups of clients that are compared."""
    return option(
        "--by",
        section="Choose",
        type=click.Choice(("software", "client")),
        help="Compare clients of captures by software or by client id.  [default: software]",
    )


def are_traffic(options: DiffedMessages, a: str, b: str) -> bool:
    """Return whether both arguments are captures, request logs or lakes, and not two captures of a single frame each.

    Return False if an option is given that only messages support.
    """
    if given(options, *_MESSAGE_OPTIONS) or not (exists(a) and exists(b)):
        return False
    try:
        kinds = {name: recognise(name).kind for name in (a, b)}
    except InputError:  # the reader of messages reports the error
        return False
    if not (TRAFFIC | LAKES).issuperset(kinds.values()):
        return False
    return any(kind is not Kind.CAPTURE or _has_several(options, name) for name, kind in kinds.items())


def _has_several(options: DiffedMessages, name: str) -> bool:
    """Return whether a capture has more than one request or response."""
    [opened] = open_inputs((name,), reading_of(options), Caller())
    frames: Iterator[Captured] = (line for line in opened.subjects() if line.is_frame)
    return len(list(islice(frames, 2))) > 1


def profiles_answer(environment: Environment, options: DiffedMessages, a: str, b: str, by: str | None) -> Answer:
    """Return the differences between the traffic of two captures or request logs."""
    how = replace(reading_of(options), connections=True)
    caller = Terminal(environment)
    sides: list[Profiles] = []
    with ExitStack() as stack:
        for name in (a, b):
            sides += [_read_profiles(opened, stack) for opened in open_inputs((name,), how, caller)]
        names = without_credentials(a), without_credentials(b)
        return traffic_answer(sides[0], sides[1], names, cast("By", by or "software"))


def _read_profiles(opened: Opened, stack: ExitStack) -> Profiles:
    profiles = Profiles(Redaction(opened.how.catalog))
    stack.callback(profiles.close)
    profiles.add_input(opened)
    profiles.finish()
    if not profiles.clients("all"):
        if profiles.broker_requests:
            raise InputError("only brokers and controllers send requests in it", file=opened.label)
        raise nothing_in([(opened.label, opened.emptiness)], "request of Kafka")
    return profiles
