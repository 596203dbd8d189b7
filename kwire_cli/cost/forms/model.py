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
    """What a message's values are in a form. `refusal` says why nothing could be written; then there are no parts, and the size is None."""

    form: Form
    parts: tuple[Part, ...] = ()
    lost: tuple[Loss, ...] = ()
    filled: tuple[Filled, ...] = ()
    size: int | None = None
    refusal: str | None = None

    @property
    def overhead(self) -> int:
        """The bytes that are no field's value."""
        return sum(part.prefix_bytes for part in self.parts)


def parts_of(spans: Spans) -> tuple[Part, ...]:
    """The spans of a message by field and kind, in the order of the layout; together they are the message."""
    sums = Sums(spans.program)
    sums.add(spans)
    rows = zip(spans.program.leaves, sums.count, sums.prefix, sums.value, strict=False)
    return tuple(Part(leaf.path, leaf.kind, number, prefix, value) for leaf, number, prefix, value in rows if number)
