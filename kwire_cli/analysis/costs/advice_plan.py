"""The choice of encodings and tags that pay, and the overlay with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.forms import widths
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.reading import OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.analysis.costs.advice_values import Cell, Field, Fields, Key
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

    Step = Callable[[Spans, int], tuple[int, int]]
    """By how many bytes what begins with a span changes, and the number of the span after it."""


# What pays: for each field the encoding, and whether to tag it, that would have taken the fewest bytes; and
# the overlay that says so.

NEARLY_ALWAYS = 0.9
"""The share of values at their default from which on a field is proposed as a tagged one."""


TAG_BYTES = 2
"""Before a tagged integer: a tag and a size, one byte each. More than 127 tags, or a section or struct around it that
gets shorter, change that by a byte here and there; choosing neglects this, and writing the messages shows it."""


class Choice(NamedTuple):
    """Choice of how to write a field: its encoding (None: unchanged) and its tag (None: in its place)."""

    encoding: str | None
    tag: int | None


Plan = dict["Key", Choice]


class Option(NamedTuple):
    """One way to write the integers of a field: bytes in all."""

    encoding: str | None
    tagged: bool
    size: int


def bytes_now(field: Field) -> int:
    """Return the bytes of all integers of a field as they are."""
    return sum(cell.now * times for cell, times in field.cells.items())


def bytes_under(field: Field, encoding: str, *, tagged: bool = False) -> int:
    """The bytes of all integers of a field under an encoding of its own width; `tagged`, those that can be, with their
    tags.
    """
    total = 0
    for cell, times in field.cells.items():
        if not (tagged and cell.taggable):
            total += times * width(cell, field.kind, encoding)
        elif not cell.default:
            total += times * (TAG_BYTES + width(cell, field.kind, encoding))
    return total


def width(cell: Cell, kind: str, encoding: str) -> int:
    """Return the bytes of one of these integers under an encoding."""
    if encoding == "fixed":
        return widths(kind, f"fixed{kind[3:]}")[0][2]
    return cell.packed if encoding == "packed" else cell.upacked if encoding == "upacked" else cell.now


def default_share(field: Field) -> float:
    """Return the share of a field's values at their default, where it could be tagged; 0 where it could not."""
    if not field.cells:
        return field.defaults / field.total if field.total and not field.present else 0.0
    taggable = sum(times for cell, times in field.cells.items() if cell.taggable)
    return (
        sum(times for cell, times in field.cells.items() if cell.taggable and cell.default) / taggable
        if taggable
        else 0.0
    )


def tag_saving(field: Field) -> int:
    """The bytes that a tag would save, below 0 if it would cost some: of an integer in its own encoding, of everything
    else with its headers.
    """
    return (
        bytes_now(field) - bytes_under(field, "now", tagged=True)
        if field.cells
        else field.default_bytes - field.headers
    )


def best(field: Field) -> Option:
    """Return the way to write the integers of a field in the fewest bytes; of those that are equal the one that changes
    less.
    """
    options = [Option(None, tagged=False, size=bytes_now(field))]
    options += [Option(name, tagged=False, size=bytes_under(field, name)) for name in OWN_WIDTH]
    if default_share(field) >= NEARLY_ALWAYS:
        options += [
            Option(None if name == "now" else name, tagged=True, size=bytes_under(field, name, tagged=True))
            for name in ("now", *OWN_WIDTH)
        ]
    return min(options, key=lambda option: option.size)


def choose(catalog: Catalog, fields: Fields, *, least: int = 1) -> Plan:
    """Return the changes to fields that would each have saved at least `least` bytes."""
    chosen: dict[str, dict[str, tuple[str | None, bool]]] = {}
    for (message, path), field in fields.items():
        if field.cells:
            option = best(field)
            if bytes_now(field) - option.size >= least:
                encoding = f"{option.encoding}{field.kind[3:]}" if option.encoding else None
                chosen.setdefault(message, {})[path] = encoding, option.tagged
        elif default_share(field) >= NEARLY_ALWAYS and tag_saving(field) >= least:
            chosen.setdefault(message, {})[path] = None, True
    plan: Plan = {}
    for message in sorted(chosen):
        plan |= dict(_numbered(catalog.message(message), chosen[message]))
    return plan


def _numbered(spec: MessageSpec, wanted: Mapping[str, tuple[str | None, bool]]) -> Iterator[tuple[Key, Choice]]:
    """Yield the choices for one message; new tags follow those that their structure has, in the order of its fields."""
    free: dict[str, int] = {}
    fields = list(fields_by_path(spec))
    for path, field in fields:
        struct = path.rpartition(".")[0]
        free[struct] = max(free.get(struct, 0), -1 if field.tag is None else field.tag + 1, 0)
    for path, _ in fields:
        struct = path.rpartition(".")[0]
        for field_path in (path, f"{path}[]"):
            if field_path in wanted:
                encoding, tagged = wanted[field_path]
                yield (spec.name, field_path), Choice(encoding, free[struct] if tagged else None)
                free[struct] += tagged


def overlay_document(catalog: Catalog, plan: Plan, about: str) -> dict[str, Any]:
    """Return the plan as an overlay, as a file of `--overlay` has it."""
    messages: dict[str, Any] = {}
    for (name, path), choice in plan.items():
        spec = catalog.message(name)
        field = dict(fields_by_path(spec))[path.removesuffix("[]")]
        keys = messages.setdefault(name, {"fields": {}})["fields"].setdefault(path.removesuffix("[]"), {})
        if choice.encoding:
            keys["elementEncoding" if path.endswith("[]") else "encoding"] = choice.encoding
        if choice.tag is not None:
            keys |= {"tag": choice.tag, "taggedVersions": str(field.versions & spec.flexible_versions)}
    return {"about": about, "messages": messages}


def overlay_text(document: Mapping[str, Any]) -> str:
    """Return an overlay as the text of its file, a field a line."""
    blocks = []
    for name, layer in document["messages"].items():
        rows = ",\n".join(f"        {json.dumps(path)}: {json.dumps(keys)}" for path, keys in layer["fields"].items())
        blocks.append(f'    {json.dumps(name)}: {{\n      "fields": {{\n{rows}\n      }}\n    }}')
    inner = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "about": {json.dumps(document["about"], ensure_ascii=False)},\n  "messages": {inner}\n}}\n'
