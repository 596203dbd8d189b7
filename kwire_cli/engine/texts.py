"""Texts made for one shape: the JSON of a small message straight from its bytes. What differs between messages of a
shape is filled in.
"""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.folds import OddError
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.tree import Item, build, is_null, read_count
from kwire_cli.structs.messages import SIZE_SUFFIX, Sized
from kwire_cli.structs.numbers import Bool, FixedInt, Uuid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans

_BOOLS = {0: "false", 1: "true"}


@dataclass(frozen=True, slots=True)
class _Slot:
    """The bytes [start, end) of the message, as struct's `code` reads them; `text` makes JSON of it, None where a
    number's own text is that.
    """

    start: int
    end: int
    code: str
    text: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """The JSON of messages of one shape: `form` takes the numbers and texts that `unpack` and then `made` give."""

    form: str
    unpack: Callable[..., tuple[Any, ...]]
    made: tuple[tuple[int, Callable[[Any], str]], ...]

    def of(self, data: bytes, start: int) -> str:
        """The JSON of the message at `start`; OddError where it has an anomaly."""
        values = self.unpack(data, start)
        if not self.made:
            return self.form % values
        filled = list(values)
        for at, text in self.made:
            filled[at] = text(filled[at])
        return self.form % tuple(filled)


def text_of(entry: Entry, spans: Spans, records: str | Callable[[bytes], str]) -> Text | None:
    """Return the Text that makes the JSON of messages with these spans.

    Return None for what only folds can do, such as tags. `records` is as in `values.Form`, or a function that makes
    the JSON of a records field from its bytes.
    """
    try:
        parts = [*_parts(build(entry, spans).root, spans, records)]
    except OddError:
        return None
    slots = [part for part in parts if isinstance(part, _Slot)]
    layout, at = ">", spans.start
    for slot in slots:
        layout += f"{slot.start - at}x{slot.code}"
        at = slot.end
    form = "".join("%s" if isinstance(part, _Slot) else part.replace("%", "%%") for part in parts)
    return Text(
        form, struct.Struct(layout).unpack_from, tuple((i, slot.text) for i, slot in enumerate(slots) if slot.text)
    )


def _parts(item: Item, spans: Spans, records: str | Callable[[bytes], str]) -> Iterator[str | _Slot]:
    node = item.node
    if isinstance(node, Leaf):
        yield _leaf(item, node, spans, records)
    elif isinstance(node, Struct):
        yield "{"
        before = ""
        for part in item.each():
            if isinstance(part.node, Tags):
                if len(part.parts) > 1:
                    raise OddError
                continue
            yield f"{before}{encode_basestring(_name(part, spans, records))}:"
            yield from _parts(part, spans, records)
            before = ","
        yield "}"
    elif isinstance(node, Array | Nullable):
        parts = item.each()
        first = next(parts)
        if read_count(first, spans.data) < 0 if isinstance(node, Array) else is_null(first, spans.data):
            yield "null"
        elif isinstance(node, Nullable):
            yield from _parts(next(parts), spans, records)
        else:
            yield "["
            for number, part in enumerate(parts):
                if number:
                    yield ","
                yield from _parts(part, spans, records)
            yield "]"


def _leaf(item: Item, node: Leaf, spans: Spans, records: str | Callable[[bytes], str]) -> str | _Slot:
    decl: Any = node.decl
    if getattr(decl, "declared", None):
        raise OddError
    if isinstance(decl, FixedInt):
        return _Slot(item.start, item.end, decl.fmtstr[1])
    if isinstance(decl, Bool):
        return _Slot(item.start, item.end, "B", _bool)
    start = spans.value[item.span]
    size = f"{item.end - start}s"
    if isinstance(decl, Sized):
        if is_null(item, spans.data):
            return "null"
        if _by_size(node, records):
            return str(item.end - start)
        if node.kind == "records" and not isinstance(records, str):
            return _Slot(start, item.end, size, records)
        return _Slot(start, item.end, size, _string if node.kind == "string" else _base64)
    if isinstance(decl, Uuid):
        return _Slot(start, item.end, size, _uuid)
    return _Slot(start, item.end, size, lambda raw: json.dumps(decl.read(raw)))


def _name(item: Item, spans: Spans, records: str | Callable[[bytes], str]) -> str:
    node = item.node
    sized = isinstance(node, Leaf) and _by_size(node, records) and not is_null(item, spans.data)
    return f"{node.name}{SIZE_SUFFIX}" if sized else node.name


def _by_size(node: Leaf, records: str | Callable[[bytes], str]) -> bool:
    return node.kind == "records" and records == "size"


def _bool(byte: int) -> str:
    try:
        return _BOOLS[byte]
    except KeyError:
        raise OddError from None


@lru_cache(maxsize=4096)
def _string(raw: bytes) -> str:
    try:
        return encode_basestring(str(raw, "utf-8"))
    except UnicodeDecodeError:
        raise OddError from None


def _base64(raw: bytes) -> str:
    return f'"{base64.b64encode(raw).decode("ascii")}"'


def _uuid(raw: bytes) -> str:
    return f'"{base64.urlsafe_b64encode(raw)[:-2].decode("ascii")}"'
