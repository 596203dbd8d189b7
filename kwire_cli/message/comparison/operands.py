"""One of two messages that are compared, and what is known of it while it is walked."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Leaf, Struct, Tags
from kwire_cli.engine.values import ABSENT, Form, leaf_value, value
from kwire_cli.message.comparison.differences import Side
from kwire_cli.message.comparison.struct_parts import parts_of
from kwire_cli.message.record_fields import RecordsAs, holds_records
from kwire_cli.message.roles import TOPIC, TOPIC_ID, roles
from kwire_cli.structs.sized import redacted

if TYPE_CHECKING:
    from kwire_cli.engine.body import Body
    from kwire_cli.engine.tree import Item
    from kwire_cli.message.comparison.struct_parts import Parts

_PLAIN = Form()


@dataclass(frozen=True)
class Operand:
    """One of two messages: `hidden` are the numbers of the spans that hold secrets, records among them where they would show as bytes."""

    body: Body
    hidden: frozenset[int] = frozenset()
    reading: RecordsAs = field(default_factory=RecordsAs)


class Look:
    """One side while it is walked: its body, how its values are shown, the anomalies by path, and the topic of the struct at work."""

    def __init__(self, operand: Operand) -> None:
        self.operand, self.body = operand, operand.body
        self.tree, self.data = operand.body.tree, operand.body.raw.data
        self.form = Form(hidden=operand.hidden)
        self.codes: dict[int, set[str]] = {}
        for note in operand.body.anomalies:
            self.codes.setdefault(note.offset, set()).add(note.code)
        self.topics = roles(self.body.spec, self.body.entry).by_node if holds_records(self.body.entry) else {}
        self.topic: str | None = None

    def enter(self, parts: Parts) -> None:
        """Below a struct: its topic is that of what comes now."""
        for item in parts.fields.values() if self.topics else ():
            if item.whole and isinstance(item.node, Leaf) and self.topics.get(item.node.id) in {TOPIC, TOPIC_ID}:
                self.topic = leaf_value(item, self.tree) or self.topic

    def odd(self, item: Item) -> set[str]:
        """The codes of the anomalies of a leaf."""
        value_at = self.tree.spans.value[item.span] if item.span >= 0 else item.start
        return self.codes.get(item.start, set()) | (self.codes.get(value_at, set()) if value_at < item.end else set())

    def raw(self, item: Item) -> bytes:
        """Its bytes."""
        return bytes(self.data[item.start : item.end])

    def value(self, item: Item) -> Any:
        """The value in JSON form, for comparing; ABSENT where the bytes did not reach it."""
        return value(item, self.tree, _PLAIN)

    def side(self, item: Item, path: str, *, raw: bool = False) -> Side:
        """What this message has; with its bytes where they are asked for, unless there may be a secret in them."""
        shown = self._shown(item)
        secret = item.span in self.form.hidden if item.span >= 0 else bool(self.form.hidden)
        data = self.raw(item) if raw and not secret else None
        return Side(path, shown, item.start, item.end - item.start, self.body, None if secret else item, raw=data)

    def _shown(self, item: Item) -> Any:
        """The value in JSON form, without secrets: of a count how many there are, None for markers, tag headers and tag sections."""
        if isinstance(item.node, Tags) or (isinstance(item.node, Leaf) and item.node.kind in {"presence", "tag-header"}):
            return None
        shown = value(item, self.tree, self.form)
        null = shown is ABSENT or (isinstance(item.node, Leaf) and item.node.kind == "count" and shown < 0)
        return None if null else shown

    def key_parts(self, element: Item) -> dict[str, Any]:
        """The values of the fields of an element that is a struct and that may be its key, which is shown: no secret is one."""
        fields = parts_of(element).fields.items() if isinstance(element.node, Struct) else ()
        hidden = self.form.hidden
        return {name: leaf_value(item, self.tree) for name, item in fields if isinstance(item.node, Leaf) and item.span not in hidden}

    def payload(self, item: Item) -> bytes:
        """The bytes of a leaf without its length."""
        return bytes(self.data[self.tree.spans.value[item.span] : item.end])

    def record_items(self, item: Item) -> tuple[list[Any], list[Any]]:
        """The batches of a record set, and the gaps between them, in JSON form; and the same with secrets redacted."""
        reading = self.operand.reading
        items = list(reading.items(self.payload(item), self.topic))
        whole = [each.to_json() for each in items]
        return whole, [each.to_json(hide=reading.hide) for each in items] if reading.hide else whole

    def gap_side(self, item: Item | None, path: str) -> Side | None:
        """The bytes that could not be decoded."""
        if item is None:
            return None
        size, hidden = item.end - item.start, item.span in self.form.hidden
        text = redacted(size) if hidden else base64.b64encode(self.raw(item)).decode("ascii")
        return Side(path, text, item.start, size, is_bytes=not hidden)
