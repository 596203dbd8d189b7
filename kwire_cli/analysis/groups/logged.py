"""Moves in the logs of coordinators: `__consumer_offsets` and `__share_group_state`.

Sources: GroupMetadataValue of classic groups, whose record is written when a generation is complete; the records of
members, epochs and current assignments of the other groups; snapshots and updates of share partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence, instant, parts
from kwire_cli.analysis.coordinators import PARTS, Passed, decode_coordinator, events, type_of
from kwire_cli.analysis.groups.moves import NOTHING, Move, number, offsets_in, partitions, span_of, text
from kwire_cli.analysis.groups.reading import decoded, tasks_in
from kwire_cli.records.batch import Batch
from kwire_cli.records.kafka_topics import decode_record
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event, Part
    from kwire_cli.analysis.subjects import LogItem

    Body = dict[str, Any]

TOPICS = frozenset({CONSUMER_OFFSETS, SHARE_GROUP_STATE})
TOPIC_RECORD = "TopicRecord"


def topic_names(item: LogItem) -> Iterator[tuple[str, str]]:
    """Yield the ids and names of topics in a batch of the metadata log, for which records of groups have ids alone."""
    if item.topic != CLUSTER_METADATA or not isinstance(item.item, Batch) or item.item.head.control:
        return
    for event in events([item.item], Passed()):
        record = decode_record(catalog(), CLUSTER_METADATA, event.key, event.value)
        if record is None or record.value is None or record.value.type != TOPIC_RECORD or record.value.body is None:
            continue
        value = record.value.json_data()
        if isinstance(value, dict):
            yield text(value.get("topicId")), text(value.get("name"))


def logged_moves(item: LogItem) -> Iterator[tuple[str, str, Move]]:
    """Yield the moves in a batch of a coordinator's log: the group, its protocol, and the move."""
    if item.topic not in TOPICS or not isinstance(item.item, Batch):
        return
    for event in events([item.item], Passed()):
        if event.control or (item.topic == CONSUMER_OFFSETS and type_of(event.key) not in PARTS):
            continue  # most records are committed offsets
        record = decode_coordinator(catalog(), item.topic, event.key, event.value)
        if record is None:
            continue
        place = Evidence("record", instant(event.timestamp / 1000), file=item.file, offset=event.offset)
        if item.topic == SHARE_GROUP_STATE:
            for move in _deliveries(event, record.key, record.value, place._replace(what="share state")):
                yield record.name, "share", move
        elif record.part and record.part.group == "classic":
            yield record.name, "classic", _generation(event, record.value, place._replace(what="group record"))
        elif record.part and (move_of := _part(event, record, record.part, place)):
            yield record.name, record.part.group, move_of


def _generation(event: Event, value: Body, place: Evidence) -> Move:
    protocol_type = text(value.get("protocolType"))
    kind = "generation" if event.value is not None else "gone"
    move = Move(kind, event.timestamp / 1000, None, place, reached=number(value.get("generation")))
    members = []
    for (row,) in parts(value, "members"):
        assignment = row.get("assignment")
        message = assignment if isinstance(assignment, dict) else decoded(text(assignment), "assignment", protocol_type)
        members.append(
            move._replace(
                member=text(row.get("memberId")),
                client=text(row.get("clientId")),
                host=text(row.get("clientHost")).lstrip("/"),
                instance=text(row.get("groupInstanceId")) or None,
                rebalance_timeout=span_of(row.get("rebalanceTimeout")),
                session_timeout=span_of(row.get("sessionTimeout")),
                assignment=tasks_in(message),
            )
        )
    return move._replace(assignor=text(value.get("protocol")), listed=tuple(members))


def _part(event: Event, record: CoordinatorRecord, meaning: Part, place: Evidence) -> Move | None:
    value = record.value
    move = Move("epoch", event.timestamp / 1000, None, place, text(record.key.get("memberId")))
    if not meaning.member:
        return move._replace(reached=number(value.get("epoch"))) if meaning.part == "metadata" and value else None
    if meaning.part == "metadata":
        names = value.get("subscribedTopicNames")
        return move._replace(
            kind="member" if event.value is not None else "gone",
            client=text(value.get("clientId")),
            host=text(value.get("clientHost")).lstrip("/"),
            instance=text(value.get("instanceId")) or None,
            rebalance_timeout=span_of(value.get("rebalanceTimeoutMs")),
            topics=tuple(sorted(map(text, names))) if isinstance(names, list) else None,
        )
    if meaning.part == "currentAssignment" and event.value is not None:
        rows = [(text(row.get("topicId")), row.get("partitions")) for (row,) in parts(value, "assignedPartitions")]
        rows += [(text(row.get("subtopologyId")), row.get("partitions")) for (row,) in parts(value, "activeTasks")]
        return move._replace(kind="assigned", reached=number(value.get("memberEpoch")), assignment=partitions(rows))
    return None


def _deliveries(event: Event, key: Body, value: Body, place: Evidence) -> Iterator[Move]:
    partition = number(key.get("partition"))
    where = frozenset({(text(key.get("topicId")), partition)}) if partition is not None else NOTHING
    for (row,) in parts(value, "stateBatches"):
        count = number(row.get("deliveryCount")) or 0
        if count > 1:
            yield Move(
                "share",
                event.timestamp / 1000,
                None,
                place,
                reason="redelivery",
                detail=offsets_in(row),
                owned=where,
                times=count,
            )
