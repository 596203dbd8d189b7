"""`kwire decode --as-topic`: decode a key and a value of a record in an internal topic, without a batch.

A key contains the type of the record, so a key and a value together need no guess. A single part is decoded as a key or
a value. If several messages fit, the most likely one is shown, and the others are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.errors import InputError
from kwire_cli.message.bodies import record_candidates
from kwire_cli.records.kafka_topics import FRAMED, OWN_TOPICS, decode_record
from kwire_cli.source.kinds import Kind
from kwire_cli.source.recognition import recognise
from kwire_cli.stores.paths import exists
from kwire_cli.view import json
from kwire_cli.view.tree import own_record_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.kafka_topics import RecordPayload
    from kwire_cli.spec.catalog import Catalog

FORMATS = ("tree", "json", "jsonl")


def show_record(
    environment: Environment,
    redaction: Redaction,
    topic: str,
    arguments: Sequence[str],
    *,
    form: str,
    fmt: str,
    full: bool,
) -> bool:
    """Show the key and value of one record in a topic, and return whether it has an anomaly.

    `form` is the form of the arguments, `fmt` the format of the output. Raises UsageError for other topics than
    Kafka's own, and for other than one or two parts.
    """
    if topic not in OWN_TOPICS:
        raise click.UsageError(f"--as-topic takes one of Kafka's own topics: {', '.join(sorted(OWN_TOPICS))}")
    parts = list(_read_parts(environment, arguments, form))
    if len(parts) not in {1, 2}:
        raise click.UsageError(f"--as-topic takes a key and a value, or one of them, not {len(parts)} parts")
    candidates = _find_candidates(redaction.catalog, topic, parts)
    record = candidates[0]
    names = [_message_name(candidate) for candidate in candidates]
    hidden = redaction.record(record) if redaction.record else {}
    if fmt == "tree":
        if len(names) > 1:
            environment.note(f"kwire: {names[0]} is a guess; it could also be {', '.join(names[1:])}")
        environment.write_lines(own_record_lines(redaction.catalog, record, hidden, full=full))
        return bool(record.anomalies)
    document: dict[str, Any] = {"topic": topic, "decoded": record.to_json(hidden=hidden)}
    if len(parts) == 1:
        document["candidates"] = names
    document["anomalies"] = [anomaly._asdict() for anomaly in record.anomalies]
    environment.write(json.dumps(document, indent=fmt == "json"))
    return bool(record.anomalies)


def _read_parts(environment: Environment, arguments: Sequence[str], form: str) -> Iterator[bytes]:
    """Yield the bytes in the arguments: files, `-` for standard input, or text."""
    for argument in arguments or ("-",):
        given: Any = argument.encode("utf-8", "surrogateescape")
        if argument == "-":
            given = environment.stdin
        elif exists(argument):
            given = argument
        for chunk in recognise(given, form=form, says=Kind.BODY).frames.chunks:
            yield bytes(chunk.data)


def _find_candidates(catalog: Catalog, topic: str, parts: list[bytes]) -> list[RecordPayload]:
    if len(parts) == 2 or topic in FRAMED:
        record = decode_record(catalog, topic, parts[0] if len(parts) == 2 else None, parts[-1])
        return [record] if record else []
    found = record_candidates(catalog, topic, parts[0])
    if not found:
        raise InputError(f"the bytes fit neither a key nor a value of {topic}; give a key and its value together")
    return found


def _message_name(record: RecordPayload) -> str:
    """Return the message and version of a record with one part."""
    part = record.value or record.key
    assert part is not None  # noqa: S101 - a candidate has a part
    return f"{part.body.message} {part.body.version}" if part.body else part.type
