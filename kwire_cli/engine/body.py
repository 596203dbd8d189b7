"""The body of a message: one run of the kernel by the layout of a definition, and its folds, each made when first asked for."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.folds import OddError, fold_of
from kwire_cli.engine.tree import Tree, build, leaves
from kwire_cli.engine.values import ABSENT, Form, value

if TYPE_CHECKING:
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Span, Spans
    from kwire_cli.spec.model import MessageSpec


@dataclass(frozen=True)
class Body:
    """The bytes [start, stop) of `data` as a message; offsets count from the start of `data`.

    `layout_version` differs from `version` where that is unknown and the nearest known layout served; then `guess` is true.
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
        """The message's full name, such as MetadataResponse."""
        return self.spec.name

    @property
    def data(self) -> Any:
        """What was decoded, as it was given: bytes, or a memoryview of it."""
        return self.raw.data

    @property
    def start(self) -> int:
        """Where the message begins in the data."""
        return self.raw.start

    @property
    def stop(self) -> int:
        """Where the bytes that were given end."""
        return self.raw.stop

    @property
    def complete(self) -> bool:
        """Whether every field was decoded."""
        return self.raw.lost < 0 or self.tree.root.whole

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
        """The leaves in order; they cover the bytes once. What could not be decoded is one of kind gap."""
        return list(leaves(self.tree))

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """What a correct writer would not have written; an offset counts from the start of the data."""
        return [*self.notes] if self._calm else [*self.notes, *anomalies(self.tree)]

    @cached_property
    def _calm(self) -> bool:
        """Whether the layout's own fold takes it, which says that it has no anomaly."""
        try:
            fold_of(self.entry, "size")(self.raw)
        except OddError:
            return False
        return True

    def form(self, form: Form) -> dict[str, Any]:
        """Kafka's JSON form, as far as the bytes reach."""
        if not form.hidden:
            with contextlib.suppress(OddError):
                shown: dict[str, Any] = fold_of(self.entry, form.records)(self.raw)
                self.__dict__["_calm"] = True  # which need not be found out again
                return shown
        found = value(self.tree.root, self.tree, form)
        return {} if found is ABSENT else found
