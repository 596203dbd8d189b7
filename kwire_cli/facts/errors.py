"""The table `errors`: one row for each error code in a response except 0, with the topic that it is about.

The body is walked from the outside in. A structure without a topic, partition or group has those of the structure
around it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.facts.frame_values import TRANSACTIONAL_ID, within
from kwire_cli.source.request_log.exchange import NO_ID, Marks, marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

ERRORS = (
    ("connection", "BIGINT"),
    ("frame", "BIGINT"),
    ("topic", "VARCHAR"),
    ("partition", "INTEGER"),
    ("code", "INTEGER"),
    ("error", "VARCHAR"),
    ("is_retriable", "BOOLEAN"),
    ("current_leader", "INTEGER"),
    ("transactional_id", "VARCHAR"),
    ("name", "VARCHAR"),
    ("message", "VARCHAR"),
)
"""Names and types.

`frame` is the response. `topic` is null if the error is not about a topic. `current_leader` is the leader in the answer
of a broker that is not the leader. `transactional_id` is null if the response is about the id in its request. `name` is
another subject of the error, such as a group or a resource, and `message` is the broker's message.
"""
_NAME_FIELDS = ("groupId", "group", "key", "coordinatorKey", "resourceName", "topicName", "name")
_PARTITION_FIELDS = ("partitionIndex", "index", "partition", "partitionId")


class _Subject(NamedTuple):
    topic: str | None = None
    partition: int | None = None
    transactional_id: str | None = None
    name: str | None = None


def error_rows(
    spec: MessageSpec, body: Mapping[str, Any], topic_of: Callable[[str], str], catalog: Catalog
) -> Iterator[list[Any]]:
    """Yield the errors in the body of a response as rows of ERRORS, without the key.

    `topic_of` returns the name of a topic id.
    """
    waiting = [(body, _marks_of(spec), _Subject())]
    while waiting:
        part, marked, around = waiting.pop()
        subject = _subject(part, marked, topic_of, around)
        for name, role in marked.roles.items():
            code = within(part.get(name), "int32") if role == ERROR else 0
            if code:
                row = catalog.errors_by_code.get(code)
                is_retriable = row is not None and row.retriable
                error = row.name if row else str(code)
                yield [
                    subject.topic,
                    subject.partition,
                    code,
                    error,
                    is_retriable,
                    _leader(part),
                    subject.transactional_id,
                    subject.name,
                    _text(part, "errorMessage"),
                ]
        for name, inner in marked.inner.items():
            value = part.get(name)
            parts = value if isinstance(value, list) else [value]
            waiting.extend((item, inner, subject) for item in parts if isinstance(item, dict))


@lru_cache(maxsize=512)
def _marks_of(spec: MessageSpec) -> Marks:
    return marks(spec)


def _subject(part: Mapping[str, Any], marked: Marks, topic_of: Callable[[str], str], around: _Subject) -> _Subject:
    """Return the subject of a part of a body, with the values of the parts around it as defaults."""
    topic = around.topic
    for name, role in marked.roles.items():
        value = part.get(name)
        if isinstance(value, str) and value and value != NO_ID and role in {TOPIC, TOPIC_ID}:
            topic = value if role == TOPIC else topic_of(value)
            break
    partition = around.partition
    for name in _PARTITION_FIELDS:
        number = within(part.get(name), "int32")
        if number is not None:
            partition = number
    transactional_id = part.get(TRANSACTIONAL_ID)
    if not isinstance(transactional_id, str):
        transactional_id = around.transactional_id
    others = (_text(part, field) for field in _NAME_FIELDS if marked.roles.get(field) != TOPIC)
    resource = next(filter(None, others), around.name)
    return _Subject(topic, partition, transactional_id, resource)


def _text(part: Mapping[str, Any], field: str) -> str | None:
    value = part.get(field)
    return value if isinstance(value, str) and value else None


def _leader(part: Mapping[str, Any]) -> int | None:
    leader = part.get("currentLeader")
    node = within(leader.get("leaderId"), "int32") if isinstance(leader, dict) else None
    return node if node is not None and node >= 0 else None
