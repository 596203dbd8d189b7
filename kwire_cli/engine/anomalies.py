"""Anomalies: the fold of a tree into what a correct writer would not have written."""

from __future__ import annotations

from typing import Any

from kwire_cli.engine.codes import MEANING, Anomaly, codes
from kwire_cli.engine.program import Leaf, Tags
from kwire_cli.engine.tree import Item, Tree, places, tagged_parts
from kwire_cli.engine.values import value
from kwire_cli.structs.numbers import Bool
from kwire_cli.structs.sized import Sized


def anomalies(tree: Tree) -> list[Anomaly]:
    """Everything that a correct writer would not have written, in the order of the bytes."""
    spans, data = tree.spans, tree.spans.data
    found: list[Anomaly] = []
    lost = ""
    for path, item in places(tree.root, keep=False):
        node = item.node
        if not item.whole:
            lost = path
        elif isinstance(node, Leaf):
            if bits := spans.flags.get(item.span, 0):
                found += (Anomaly(code, path, item.start, MEANING[code]) for code in codes(bits))
            if isinstance(node.decl, Bool) and data[item.start] > 1:
                found.append(Anomaly("BOOL_NOT_0_OR_1", path, item.start, f"the byte is {data[item.start]}"))
            elif node.kind == "string" and isinstance(node.decl, Sized) and not _is_utf8(data[spans.value[item.span] : item.end]):
                found.append(Anomaly("INVALID_UTF8", path, spans.value[item.span], MEANING["INVALID_UTF8"]))
            elif getattr(node.decl, "declared", None):
                found += _out_of_range(node, item, path, data)
        if isinstance(node, Tags):
            found += _tag_anomalies(item, node, tree, path)
    if tree.gap:
        at = tree.gap.span
        found += (Anomaly(code, lost, tree.gap.start, _gap_detail(code, tree)) for code in codes(spans.flags.get(at, 0)))
    return found


def _out_of_range(node: Leaf, item: Item, path: str, data: Any) -> list[Anomaly]:
    number = node.decl.read(data[item.start : item.end])
    low, high = node.decl.declared
    return [] if low <= number <= high else [Anomaly("VALUE_OUT_OF_RANGE", path, item.start, f"{number} does not fit {node.kind}")]


def _tag_anomalies(item: Item, node: Tags, tree: Tree, path: str) -> list[Anomaly]:
    found = []
    seen: set[Any] = set()
    owner = path.removesuffix("_tags")
    for header, part in tagged_parts(item):
        key = header.leaf.id if header.tag is None else ("tag", header.tag)
        where = owner + part.node.name if header.tag is None else f"{path}[{header.tag}]"
        flagged = tree.spans.flags.get(header.span, 0)
        if key in seen and "TAG_DUPLICATE" not in codes(flagged):
            found.append(Anomaly("TAG_DUPLICATE", where, header.start, MEANING["TAG_DUPLICATE"]))
        seen.add(key)
        if header.tag is None and part.whole and value(part, tree) == node.known[header.leaf.id][1]:
            found.append(Anomaly("TAG_DEFAULT_VALUE", where, header.start, MEANING["TAG_DEFAULT_VALUE"]))
    return found


def _is_utf8(data: Any) -> bool:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _gap_detail(code: str, tree: Tree) -> str:
    assert tree.gap is not None  # noqa: S101 - for the type checker
    left = tree.gap.end - tree.gap.start
    noun = "byte is" if left == 1 else "bytes are"
    if code == "TRAILING_BYTES":
        return f"{left} {noun} left after the end of the message"
    lost = tree.spans.program.leaves[tree.spans.lost] if tree.spans.lost > 0 else None
    return f"{MEANING[code]}; {left} {noun} left" + (f" for {lost.path} ({lost.kind})" if lost else "")
