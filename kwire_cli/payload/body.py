"""The part of a payload that a definition describes: one run of the kernel and its folds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import Span, Spans, walk
from kwire_cli.engine.tree import Tree, build, leaves
from kwire_cli.engine.values import ABSENT, Form, value
from kwire_cli.spec.findings import Report
from kwire_cli.spec.location import read_bundled
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.model import MessageSpec


@cache
def own_definition(name: str) -> MessageSpec:
    """A definition of kwire's own, in specs/payloads: of what Kafka writes by hand and has no definition for."""
    definition = read_definition(read_bundled(f"payloads/{name}.json"), Report(f"payloads/{name}.json"))
    assert definition  # noqa: S101 - tests lint these files
    return definition.spec


@dataclass(frozen=True)
class Body:
    """The bytes from `raw.start` to the end of a payload, as a message; it has what a decoded message has, so that both are read alike.

    `guess` is true where the version is unknown and the nearest known layout served, whose number is `layout_version`.
    """

    spec: MessageSpec
    version: int
    layout_version: int
    entry: Entry
    raw: Spans
    notes: tuple[Anomaly, ...] = ()
    guess: bool = False

    @property
    def message(self) -> str:
        """The definition's name, such as ConsumerProtocolSubscription."""
        return self.spec.name

    @property
    def complete(self) -> bool:
        """Whether every field was decoded."""
        return self.tree.root.whole

    @property
    def exact(self) -> bool:
        """Whether its own version's layout took all bytes, no more and no less."""
        return not self.guess and self.raw.lost < 0 and self.raw.used == self.raw.stop

    @cached_property
    def tree(self) -> Tree:
        """The spans grouped by the declaration."""
        return build(self.entry, self.raw)

    @cached_property
    def spans(self) -> list[Span]:
        """The leaves in order, the gap last; they cover the bytes from `raw.start` on once. Offsets count from the payload's first byte."""
        return list(leaves(self.tree))

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """What a correct writer would not have written; offsets count from the payload's first byte."""
        return [*self.notes, *anomalies(self.tree)]

    def to_json(self, *, hidden: frozenset[int] = frozenset()) -> dict[str, Any]:
        """Kafka's JSON form, as far as the bytes reach; `hidden` are the numbers of the spans to redact."""
        form = value(self.tree.root, self.tree, Form("base64", hidden))
        return {} if form is ABSENT else form


def decode_body(spec: MessageSpec, version: int, data: Any, start: int = 0, *, layout: int | None = None) -> Body:
    """The bytes of `data` from `start` on as a message; of a version that is not known by the nearest layout, as a guess.

    `layout` is the version of the layout where that is known to be another number.
    """
    valid = spec.valid_versions
    notes: tuple[Anomaly, ...] = ()
    nearest = min(max(version, valid.low), valid.high) if layout is None else layout
    if layout is None and nearest != version:
        notes = (Anomaly("UNKNOWN_VERSION", "", 0, f"{spec.name} has versions {valid}; {version} was decoded by the layout of {nearest}"),)
    entry = entry_for(spec, nearest)
    return Body(spec, version, nearest, entry, walk(entry, data, start), notes, bool(notes))
