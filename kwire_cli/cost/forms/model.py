"""A form of a message, and what the values of one message cost in it: counted from the spans of bytes that were really written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.forms.cases import integers_at
from kwire_cli.cost.sums import Sums
from kwire_cli.engine.lower import lower
from kwire_cli.structs.messages import MessageStruct, declare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.model import FieldSpec, MessageSpec


@dataclass(frozen=True)
class Form:
    """One way to write a message: a definition at a version; `flexible` overrules what the definition says of that.

    `case` is best or worst where the integers are not those of the message, but those that this form writes in the fewest or the most bytes.
    """

    name: str
    spec: MessageSpec
    version: int
    flexible: bool | None = None
    case: str | None = None

    @property
    def is_flexible(self) -> bool:
        """Whether structures end in a tag section."""
        return self.version in self.spec.flexible_versions if self.flexible is None else self.flexible

    @cached_property
    def layout(self) -> MessageStruct:
        """What builds the bytes."""
        return declare(self.spec, self.version, flexible=self.flexible)

    @cached_property
    def entry(self) -> Entry:
        """What reads them."""
        return lower(self.layout)

    @cached_property
    def integers(self) -> dict[str, int]:
        """What the integers of a case are, by their encoding."""
        return integers_at(self.layout, self.case) if self.case else {}

    @cached_property
    def known(self) -> dict[int, tuple[Any, ...]]:
        """What was found out about structs of this form, by the identity of their fields."""
        return {}

    def tagged(self, field: FieldSpec) -> bool:
        """Whether a field stands in the tag section."""
        return self.is_flexible and field.tag is not None and self.version in field.tagged_versions


class Loss(NamedTuple):
    """Values that a form has no place for: the path without indexes, how many, and the first; Kafka's own writers drop them where `ignorable`."""

    path: str
    number: int
    value: Any
    ignorable: bool


class Filled(NamedTuple):
    """Fields that a form needs and the values lack: the path without indexes, how many, and the default at which they are written."""

    path: str
    number: int
    value: Any


class Part(NamedTuple):
    """The spans of one field and kind: how many, the bytes of their prefixes (lengths, counts, markers, tag headers), and those of their values."""

    path: str
    kind: str
    number: int
    prefix_bytes: int
    value_bytes: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a message's values are in a form: the spans of the bytes. `refusal` says why nothing could be written; then there are none."""

    form: Form
    spans: Spans | None = None
    lost: tuple[Loss, ...] = ()
    filled: tuple[Filled, ...] = ()
    refusal: str | None = None

    @property
    def size(self) -> int | None:
        """The bytes; None where there are none."""
        return None if self.spans is None else self.spans.stop - self.spans.start

    @property
    def parts(self) -> tuple[Part, ...]:
        """The spans by field and kind, in the order of the layout; together they are the message."""
        if self.spans is None:
            return ()
        sums = Sums(self.spans.program)
        sums.add(self.spans)
        return tuple(parts_in(sums))

    @property
    def overhead(self) -> int:
        """The bytes that are no field's value."""
        return sum(part.prefix_bytes for part in self.parts)


def parts_in(sums: Sums) -> Iterator[Part]:
    """What was counted, by field and kind."""
    for leaf, number, prefix, value in zip(sums.program.leaves, sums.count, sums.prefix, sums.value, strict=False):
        if number:
            yield Part(leaf.path, leaf.kind, number, prefix, value)
