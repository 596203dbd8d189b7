"""A struct of a decoded message by the names of its fields, plain and tagged alike, and its tag section."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.tree import tagged_parts

if TYPE_CHECKING:
    from kwire_cli.engine.tree import Item


@dataclass(slots=True)
class Parts:
    """`names` are the fields that the layout has, `defaults` those of the tagged ones; `fields` are those that are there, `headers` their tags.

    Of a tag that occurs twice the last one counts; what came before it is `repeated`. `unknown` has header and data of each unknown tag by its number
    and how many of that number came before it. `order` are the tags as they stand; `all_tags` says that the section is whole.
    """

    names: dict[str, None]
    defaults: dict[str, Any]
    fields: dict[str, Item] = field(default_factory=dict)
    headers: dict[str, Item] = field(default_factory=dict)
    unknown: dict[tuple[int, int], tuple[Item, Item]] = field(default_factory=dict)
    repeated: list[Item] = field(default_factory=list)
    order: list[str | tuple[int, int]] = field(default_factory=list)
    section: Item | None = None
    all_tags: bool = False


def parts_of(item: Item) -> Parts:
    """The parts of an item that is a struct."""
    node = item.node
    assert isinstance(node, Struct)  # noqa: S101 - for the type checker
    known = node.tags.known if node.tags else {}
    defaults = {named.name: default for named, default in known.values() if isinstance(named, Leaf | Struct | Array | Nullable)}
    out = Parts(dict.fromkeys([*(each.name for each in node.fields), *defaults]), defaults)
    for part in item.parts:
        if isinstance(part.node, Tags):
            _add_tags(out, part)
        elif reached(part):
            out.fields[part.node.name] = part
    return out


def reached(item: Item) -> bool:
    """Whether the bytes reach what says that an item is there: a leaf itself, a count, a presence marker, the first field of a struct."""
    return item.whole or (bool(item.parts) and reached(item.parts[0]))


def _add_tags(out: Parts, section: Item) -> None:
    out.section, out.all_tags = section, section.whole
    seen: Counter[int] = Counter()
    for header, part in tagged_parts(section):
        if header.tag is not None:
            key = header.tag, seen[header.tag]
            seen[header.tag] += 1
            out.order.append(key)
            if part.whole:
                out.unknown[key] = header, part
            continue
        name = part.node.name
        if name in out.fields:
            out.repeated += (out.headers[name], out.fields[name])
        else:
            out.order.append(name)
        if reached(part):
            out.fields[name], out.headers[name] = part, header
