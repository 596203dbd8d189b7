"""`__consumer_offsets`: the groups of all kinds and their committed offsets, as GroupMetadataManager and OffsetMetadataManager load them.

What counts is the newest value under a key, with one exception: offsets committed in a transaction count from its COMMIT marker on, unless a later
record for the same partition came before that; an ABORT marker drops them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.payload.control import decode_control
from kwire_cli.spec.kafka import CONSUMER_OFFSETS
from kwire_cli.state.events import Kept
from kwire_cli.state.groups import GroupRow, committed
from kwire_cli.state.keyed import NO_TYPE, TYPE_SIZE, decoded, known_types, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.model import Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.state.events import Event

OFFSET_COMMITS = frozenset({0, 1})
"""Types of keys of committed offsets; 0 is that of Kafka 0.8, and both mean the same partition."""


@dataclass
class Offsets:
    """The newest values: `commits` by the key without its type, `live` of all else by the key, `pending` commits by producer id."""

    catalog: Catalog
    commits: dict[bytes, tuple[bytes, Kept]] = field(default_factory=dict)
    live: dict[bytes, Kept] = field(default_factory=dict)
    pending: dict[int, dict[bytes, tuple[bytes, Kept]]] = field(default_factory=dict)
    waiting: dict[bytes, set[int]] = field(default_factory=dict)
    """The producer ids with pending commits of a partition."""
    unknown: Counter[str] = field(default_factory=Counter)

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """`{"kind":"group","group","type","state",…,"members","offsets","pendingOffsets"}`, by name (docs/state.md)."""
        groups: dict[str, GroupRow] = {}
        undecoded = 0
        for key, kept in self.live.items():
            found = decoded(self.catalog, CONSUMER_OFFSETS, key, kept.value, hide)
            number = type_of(key)
            if found and number is not None:
                name = str(found[0].get("groupId", found[0].get("group")))
                groups.setdefault(name, GroupRow(name)).add(number, *found)
            else:
                undecoded += 1
        everything = [(-1, self.commits), *self.pending.items()]
        for producer, commits in everything:
            for key, kept in commits.values():
                found = decoded(self.catalog, CONSUMER_OFFSETS, key, kept.value, hide)
                if not found:
                    undecoded += 1
                    continue
                row = groups.setdefault(found[0]["group"], GroupRow(found[0]["group"]))
                line = committed(*found, offset=kept.offset)
                if producer < 0:
                    row.offsets.append(line)
                else:
                    row.pending.append({"producerId": producer, **line})
        for name in sorted(groups):
            yield groups[name].to_json()
        if undecoded:
            yield {"kind": "undecoded", "records": undecoded}

    def to_json(self, *, hide: Hide | None) -> dict[str, Any]:
        """`{"groups":[…]}` with what `rows` gives; `hide` finds what to redact, None shows everything."""
        return {"groups": [row for row in self.rows(hide=hide) if row.pop("kind") == "group"]}


def apply(state: Offsets, event: Event) -> None:
    """Take in a record; one without a value removes what is under its key."""
    if event.control:
        _end_transaction(state, event)
        return
    number = type_of(event.key)
    if event.key is None or number is None or number not in known_types(state.catalog, CONSUMER_OFFSETS):
        state.unknown[NO_TYPE if number is None else str(number)] += 1
    elif number in OFFSET_COMMITS:
        _commit(state, event, event.key)
    elif event.value is None:
        state.live.pop(event.key, None)
    else:
        state.live[event.key] = Kept(event.offset, event.timestamp, event.value)


def _commit(state: Offsets, event: Event, key: bytes) -> None:
    place = key[TYPE_SIZE:]
    if event.value is None:
        state.commits.pop(place, None)
        for producer in state.waiting.pop(place, ()):
            del state.pending[producer][place]
        return
    kept = key, Kept(event.offset, event.timestamp, event.value)
    if event.producer_id < 0:
        state.commits[place] = kept
    else:
        state.pending.setdefault(event.producer_id, {})[place] = kept
        state.waiting.setdefault(place, set()).add(event.producer_id)


def _end_transaction(state: Offsets, event: Event) -> None:
    result = decode_control(state.catalog, event.key, event.value).type
    if result not in {"COMMIT", "ABORT"}:
        return
    for place, kept in state.pending.pop(event.producer_id, {}).items():
        state.waiting[place].discard(event.producer_id)
        known = state.commits.get(place)
        if result == "COMMIT" and (known is None or known[1].offset < kept[1].offset):
            state.commits[place] = kept
