"""`__cluster_metadata` and its snapshots: the image of the cluster, as MetadataDelta and MetadataImage make it.

Records between BeginTransaction and EndTransaction (KIP-868) count once that came, and never if AbortTransaction does (MetadataBatchLoader). The
header of a snapshot begins anew. Control records say the voters and the kraft.version.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.payload.control import decode_control
from kwire_cli.payload.records import decode_record, type_name
from kwire_cli.spec.kafka import CLUSTER_METADATA
from kwire_cli.state.image_json import rows_of
from kwire_cli.state.image_records import REPLAY
from kwire_cli.state.keyed import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.payload.records import RecordPayload
    from kwire_cli.records.model import Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.state.events import Event

BEGIN, END, ABORT = "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"
WITHOUT_MEANING = frozenset({"NoOpRecord"})


@dataclass
class Image:
    """The cluster. What may hold a secret is kept as it was decoded, so that whoever shows it can have it hidden.

    Attributes:
        topics: By topic id: `{"name","topicId","partitions":{number: {…}}}`; the name is None where only changes of it were seen.
        ids: Topic ids by name.
        elr: By topic id, the partitions that may have eligible leader replicas, which one record can clear everywhere.
        configs: By resource type and name, configs by name: their records.
        scram: By mechanism and user: their records.
        quotas: By entity, pairs of type and name: values by key.
        held: Records of a transaction of the controller that has not ended; None without one.

    """

    catalog: Catalog
    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, dict[str, Any]] = field(default_factory=dict)
    controllers: dict[int, dict[str, Any]] = field(default_factory=dict)
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    elr: dict[str, set[int]] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, RecordPayload]] = field(default_factory=dict)
    quotas: dict[tuple[tuple[str, str | None], ...], dict[str, Any]] = field(default_factory=dict)
    acls: dict[str, dict[str, Any]] = field(default_factory=dict)
    scram: dict[tuple[int, str], RecordPayload] = field(default_factory=dict)
    tokens: dict[str, RecordPayload] = field(default_factory=dict)
    next_producer_id: int | None = None
    zk_migration: int | None = None
    kraft_version: int | None = None
    voters: list[dict[str, Any]] | None = None
    leader: dict[str, Any] | None = None
    held: list[RecordPayload] | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    undecoded: int = 0
    unapplied: Counter[str] = field(default_factory=Counter)
    """Changes of what was never seen, by record type: the log begins behind it."""

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """The image in lines of its parts, each with its `kind`: quorum, feature, broker, controller, topic, configs and so on (docs/state.md)."""
        return rows_of(self, hide)

    def to_json(self, *, hide: Hide | None) -> dict[str, Any]:
        """What `rows` gives, by kind: `{"quorum":{…},"features":[…],"brokers":[…],"topics":[…],…}`; `hide` finds what to redact, None shows all."""
        out: dict[str, Any] = {name: [] for name in LISTS.values()}
        for row in self.rows(hide=hide):
            kind = row.pop("kind")
            if kind in LISTS:
                out[LISTS[kind]].append(row)
            else:
                out[kind] = row
        return out


LISTS = {
    "feature": "features",
    "broker": "brokers",
    "controller": "controllers",
    "topic": "topics",
    "configs": "configs",
    "quota": "quotas",
    "acl": "acls",
    "scramUser": "scramUsers",
    "delegationToken": "delegationTokens",
}
"""Kinds of which there may be several, and what they are called together."""


def apply(state: Image, event: Event) -> None:
    """Take in a record of the log or of a snapshot."""
    if event.control:
        _control(state, event)
        return
    payload = decode_record(state.catalog, CLUSTER_METADATA, None, event.value) if event.value is not None else None
    value = payload.value if payload else None
    if not payload or not value or not value.body:
        state.unknown[value.type if value and value.type else "none"] += 1
    elif not whole(value):
        state.undecoded += 1
    elif value.type == BEGIN:
        state.held = []
    elif value.type in {END, ABORT}:
        held, state.held = state.held or [], None
        for each in held if value.type == END else ():
            _replay(state, each)
    elif state.held is not None:
        state.held.append(payload)
    else:
        _replay(state, payload)


def _replay(state: Image, payload: RecordPayload) -> None:
    value = payload.value
    if value is None or value.type in WITHOUT_MEANING:
        return
    known = REPLAY.get(value.type)
    if not known:
        state.unknown[type_name(value.type)] += 1
    elif not known(state, payload, value.json_data()):
        state.unapplied[type_name(value.type)] += 1


def _control(state: Image, event: Event) -> None:
    control = decode_control(state.catalog, event.key, event.value)
    value = control.value.json_data() if control.value and whole(control.value) else None
    if control.type == "SnapshotHeader":
        _begin_anew(state)
    elif value is None:
        return
    elif control.type == "LeaderChange":
        state.leader = {"leaderId": value["leaderId"], "leaderEpoch": event.epoch}
    elif control.type == "KRaftVersion":
        state.kraft_version = value["kRaftVersion"]
    elif control.type == "KRaftVoters":
        state.voters = value["voters"]


def _begin_anew(state: Image) -> None:
    fresh = Image(state.catalog, unknown=state.unknown, undecoded=state.undecoded, unapplied=state.unapplied)
    state.__dict__.update(fresh.__dict__)
