"""What the partitions of a topic say together, in the JSON form of `kwire dump --state`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.records.model import Hide
    from kwire_cli.state.folding import Folded

_NAMES = {"group": ("group",), "transaction": ("transactionalId",), "sharePartition": ("groupId", "topicId", "partition")}
"""By what lines of a kind are in order, where several partitions have some."""
_TOGETHER = {"group": "groups", "transaction": "transactions", "sharePartition": "sharePartitions"}


@dataclass(frozen=True)
class Answer:
    """A topic and what was folded of its partitions."""

    topic: str
    parts: Sequence[Folded]

    def logs(self) -> Iterator[dict[str, Any]]:
        """A line for each partition: `{"kind":"log","topic","partition","firstOffset","lastOffset","records","snapshot","unknown","notes"}`."""
        for part in self.parts:
            yield {
                "kind": "log",
                "topic": part.topic,
                "partition": part.partition,
                "firstOffset": part.passed.first,
                "lastOffset": part.passed.last,
                "records": part.passed.records,
                "snapshot": part.snapshot,
                "unknown": dict(sorted(part.state.unknown.items())),
                "notes": part.passed.notes,
            }

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """What the topic says, in lines of which each has a `kind`, and a `logPartition` where the topic may have several partitions."""
        found = []
        for part in self.parts:
            label = {} if self.topic == CLUSTER_METADATA or part.partition is None else {"logPartition": part.partition}
            found += [row | label for row in part.state.rows(hide=hide)]
        if len(self.parts) > 1:
            found.sort(key=lambda row: [str(row["kind"]), *((str(type(row[name])), row[name]) for name in _NAMES.get(row["kind"], ()))])
        yield from found

    def by_log(self, *, hide: Hide | None) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Yield the line of each partition, as `logs` has it, with the lines of what that partition says."""
        for part, log in zip(self.parts, self.logs(), strict=True):
            yield log, list(part.state.rows(hide=hide))

    def to_json(self, *, hide: Hide | None) -> dict[str, Any]:
        """All in one: `{"topic","logs":[…]}` and what the state's `to_json` gives, the lists of all partitions together."""
        logs = [{name: value for name, value in line.items() if name not in {"kind", "topic"}} for line in self.logs()]
        out: dict[str, Any] = {"topic": self.topic, "logs": logs}
        if self.topic == CLUSTER_METADATA:
            for part in self.parts:
                out |= part.state.to_json(hide=hide)
            return out
        for part in self.parts:
            out |= {name: [] for name in part.state.to_json(hide=hide)}
        for row in self.rows(hide=hide):
            kind = row.pop("kind")
            if kind in _TOGETHER:
                out[_TOGETHER[kind]].append(row)
        return out
