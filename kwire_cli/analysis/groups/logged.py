"""Conversion of records in the logs of `__consumer_offsets` to moves.

The record GroupMetadataValue of a classic group is written when a generation is complete, and contains all members.
Other groups have separate records for members, epochs and current assignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence, instant, parts
from kwire_cli.analysis.coordinators import OFFSET_COMMITS, decode_coordinator, events, is_whole, type_of
from kwire_cli.analysis.groups.moves import NOTHING, Move, partitions_in, span_of, topics_in
from kwire_cli.analysis.groups.reading import decoded, tasks_in
from kwire_cli.records.batch import Batch
from kwire_cli.records.kafka_topics import decode_record
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.coordinators import CoordinatorRecord
    from kwire_cli.source.log_inputs import LogItem

    Body = dict[str, Any]

TOPIC_RECORD = "TopicRecord"


def topic_names(item: LogItem) -> Iterator[tuple[str, str]]:
    """Yield the ids and names of topics in a batch of the metadata log. Records of groups contain only ids."""
    if item.topic != CLUSTER_METADATA or not isinstance(item.item, Batch) or item.item.head.control:
        return
    for event in events([item.item]):
        record = decode_record(catalog(), CLUSTER_METADATA, event.key, event.value)
        if record and record.value and record.value.type == TOPIC_RECORD and is_whole(record.value):
            value = record.value.json_data()
            yield value["topicId"], value["name"]


def logged_moves(item: LogItem) -> Iterator[Move]:
    """Yield the moves in a batch of a coordinator's log."""
    if item.topic != CONSUMER_OFFSETS or not isinstance(item.item, Batch):
        return
    for event in events([item.item]):
        if event.control or type_of(event.key) in OFFSET_COMMITS:
            continue  # as most records are
        if record := decode_coordinator(catalog(), item.topic, event.key, event.value):
            time = event.timestamp / 1000
            place = Evidence("record", instant(time), file=item.file, offset=event.offset)
            member = record.key.get("memberId", "")
            yield from _moves(Move("", time, None, place, record.name, record.group_type, member), record)


def _moves(move: Move, record: CoordinatorRecord) -> Iterator[Move]:
    value = record.value
    match record.group_type, record.part:
        case "classic", _:
            yield _generation(move._replace(place=move.place._replace(what="group record")), value)
        case _, "MemberMetadata":
            topics = topics_in(value.get("subscribedTopicNames"))
            yield _described(move, value)._replace(kind="member" if value else "gone", topics=topics)
        case _, "Metadata" if value:
            yield move._replace(kind="epoch", reached=value.get("epoch"))
        case _, "CurrentMemberAssignment" if value:
            has = partitions_in(value, "assignedPartitions", "activeTasks") or NOTHING
            yield move._replace(kind="assigned", reached=value.get("memberEpoch"), assignment=has)


def _generation(move: Move, value: Body) -> Move:
    protocol_type = value.get("protocolType") or ""
    move = move._replace(kind="generation" if value else "gone", reached=value.get("generation"))
    members = []
    for (row,) in parts(value, "members"):
        assignment = row.get("assignment")
        message = assignment if isinstance(assignment, dict) else decoded(assignment or "", "assignment", protocol_type)
        member = _described(move, row)
        members.append(member._replace(member=row.get("memberId") or "", assignment=tasks_in(message)))
    return move._replace(assignor=value.get("protocol") or "", listed=tuple(members))


def _described(move: Move, row: Body) -> Move:
    """Return a move with the client and the settings in the record of a member."""
    return move._replace(
        client=row.get("clientId") or "",
        host=(row.get("clientHost") or "").lstrip("/"),
        instance=row.get("groupInstanceId", row.get("instanceId")) or None,
        rebalance_timeout=span_of(row.get("rebalanceTimeout", row.get("rebalanceTimeoutMs"))),
        session_timeout=span_of(row.get("sessionTimeout")),
    )
