"""Bytes that differ and are messages themselves: what differs within them, in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.message.comparison.differences import Comparison, Difference, Side
from kwire_cli.message.comparison.operands import Operand
from kwire_cli.message.comparison.walk import compare
from kwire_cli.payload.fields import holds_payloads, payloads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.body import Body
    from kwire_cli.message.comparison.differences import At
    from kwire_cli.payload.model import Payload
    from kwire_cli.spec.catalog import Catalog

    Hide = Callable[[Body], frozenset[int]]
    """The numbers of the spans of a payload that hold secrets."""


def look_inside(catalog: Catalog, a: Body, b: Body, out: Comparison, hide: Hide) -> None:
    """Put what differs in subscriptions, assignments and other payloads in place of their bytes. Offsets within count from the begin of the field."""
    if a.guess or b.guess or not holds_payloads(a.message):
        return
    mine, other = ({each.path: each for each in payloads_of(catalog, body.spec, body.version, body.tree)} for body in (a, b))
    if mine and other:
        out.differences = [inner for each in out.differences for inner in _inside(each, mine, other, out, hide)]


def _inside(each: Difference, mine: dict[str, Payload], other: dict[str, Payload], out: Comparison, hide: Hide) -> Iterator[Difference]:
    shown = each.kind == "changed" and each.a and each.b and each.a.item and each.b.item  # no secret
    p = mine.get(each.a.path) if shown and each.a else None
    q = other.get(each.b.path) if shown and each.b else None
    if p is None or q is None or p.type != q.type or not p.body or not q.body:
        yield each
        return
    found = Comparison(rewritten=out.rewritten)
    compare(Operand(p.body, hide(p.body)), Operand(q.body, hide(q.body)), found, each.at)
    if p.version != q.version:
        place = each.at.below("version")
        yield _version(place, p, q)
    elif not found.differences:  # only in what stands before the message
        yield each
    for inner in found.differences:
        yield from _inside(inner, mine, other, out, hide)


def _version(at: At, p: Payload, q: Payload) -> Difference:
    return Difference("changed", at, Side(at.a, p.version), Side(at.b, q.version), f"the version of the {p.type} in the bytes")
