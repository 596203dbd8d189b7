"""The tables about parts of a frame: batches of Produce requests, fields that requests set, and errors in responses.

Tables in memory and lakes have the same rows. Rows come from one line here, and in `columnar.parts` from many frames.
They begin without the key of the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.facts.batches import BATCHES, batch_rows
from kwire_cli.facts.errors import ERRORS, error_rows
from kwire_cli.facts.set_fields import SET_FIELDS, set_field_rows
from kwire_cli.message.roles import can_hold_secrets
from kwire_cli.source.kafka.captured import body_of
from kwire_cli.structs.lengths import REDACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

KEY = 2
"""The number of columns of the key in these tables: the connection and the frame."""
PARTS: Mapping[str, Sequence[tuple[str, str]]] = {"batches": BATCHES, "errors": ERRORS, "set_fields": SET_FIELDS}
"""The tables with the names and types of their columns."""


def part_rows(line: Captured, wanted: Container[str], redaction: Redaction) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the rows of a frame whose body fits its layout, in the wanted tables of PARTS."""
    if "batches" in wanted:
        yield from (("batches", row) for row in batch_rows(line))
    if line.api_key is None:
        return
    if "set_fields" in wanted and line.kind == "request":
        yield from (("set_fields", row) for row in set_field_rows(line.api_key, body_of(line)))
    if "errors" in wanted and line.kind == "response" and line.error_codes and line.read is not None:
        body = shown_body(line, redaction)
        rows = errors_in(redaction.catalog, line.api_key, body, line.names.topic)
        yield from (("errors", row) for row in rows)


def errors_in(
    catalog: Catalog, api_key: int, body: Mapping[str, Any], topic_of: Callable[[str], str]
) -> Iterator[list[Any]]:
    """Yield the errors in the body of a response as rows. `topic_of` returns the name of a topic id."""
    api = catalog.named_api(api_key)
    if api is not None and api.response is not None:
        yield from error_rows(catalog.message(api.response), body, topic_of, catalog)


def shown_body(line: Captured, redaction: Redaction) -> dict[str, Any]:
    """Return the body of a line in JSON form, with null in place of secrets."""
    if can_hold_secrets(line.message) and (hidden := redaction.line(line)):
        body = _without_redacted(line.to_json(records="size", hidden=hidden)["body"])
        return body if isinstance(body, dict) else {}
    return body_of(line)


def _without_redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_redacted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_redacted(inner) for inner in value]
    return None if isinstance(value, str) and REDACTED.fullmatch(value) else value
