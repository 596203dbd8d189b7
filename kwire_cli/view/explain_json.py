"""Explanations for programs: an object for each part, step and rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import ABSENT, Form, leaf_value
from kwire_cli.explain.model import Event, Part, Piece, Remark, Skipped, Step
from kwire_cli.explain.rules import RULES
from kwire_cli.view.explain import used
from kwire_cli.view.meaning import meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.catalog import Catalog


def explanation_objects(catalog: Catalog, events: Iterable[Event], rules: set[str]) -> Iterator[dict[str, Any]]:
    """An object for each event, told apart by its first key: part, path, skipped, remark, anomaly; `rule` the first time that one is used.

    `rules` are those that were given before; those given now are added.
    """
    for event in events:
        if isinstance(event, Step):
            for piece in event.pieces:
                for key in used(piece.rule):
                    if key not in rules:
                        rules.add(key)
                        rule = RULES[key]
                        yield {"rule": key, "name": rule.name, "text": rule.text, "source": rule.source}
            yield _step(catalog, event)
        elif isinstance(event, Part):
            places = {"start": event.tree.root.start, "level": event.level, "ownOffsets": event.own}
            yield {"part": event.name, "title": event.title, "layout": event.layout, **places}
        elif isinstance(event, Skipped):
            yield {"skipped": event.count, "first": event.first, "last": event.last, "start": event.start, "end": event.end}
        else:
            yield _remark(event)


def _remark(event: Remark) -> dict[str, Any]:
    return {"anomaly": event.anomaly._asdict()} if event.anomaly else {"remark": event.text}


def _step(catalog: Catalog, step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {"path": step.path, "type": step.type, "start": step.start, "end": step.end}
    item, part = step.item, step.part
    if item is not None and part is not None:
        value = leaf_value(item, part.tree, Form(hidden=part.hidden, records="size"))
        if value is not ABSENT:
            out["value"] = value
            named = None if item.span in part.hidden or item.leaf.kind in {"count", "presence", "tag-count"} else value
            if isinstance(named, int | str) and (known := meaning(catalog, part.message, item.leaf, named)):
                out["meaning"] = known
    out["pieces"] = [_piece(step, piece) for piece in step.pieces]
    out["note"], out["then"], out["next"] = step.note or None, step.then or None, step.next or None
    out["anomalies"] = [anomaly._asdict() for anomaly in step.anomalies]
    return out


def _piece(step: Step, piece: Piece) -> dict[str, Any]:
    """The bytes of records are those of the batches that follow, and are not given twice."""
    shown = not piece.secret and piece.rule != "records"
    data = bytes(step.data[piece.start : piece.end]).hex() if shown else None
    return {"what": piece.what, "start": piece.start, "end": piece.end, "bytes": data, "rule": piece.rule, "working": list(piece.working)}
