"""What is within fields: payloads and forwarded requests, found by where the field's value stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.view.html.fields import Part
from kwire_cli.view.json import dumps
from kwire_cli.view.tree import SHOWN_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.message.frames import Frame
    from kwire_cli.payload.model import Payload
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.html.fields import Below, Place
    from kwire_cli.view.html.outline import Outline

NOTHING: frozenset[int] = frozenset()


class Within:
    """Meanings by the offsets of what means something; `found` is what `Part` takes as `below`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.found: dict[tuple[int, int], Below] = {}

    def text(self, at: tuple[int, int], name: str, text: str) -> None:
        """A meaning that is a text."""

        def below(outline: Outline, place: Place, depth: int) -> None:
            shown = text if outline.full or len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…"
            outline.node(depth, name, "", place.row, [(shown, "text")])

        self.found[at] = below

    def payloads(self, payloads: Iterable[Payload], starts: dict[str, int], data: Any, origin: int, hidden: Mapping[str, frozenset[int]]) -> None:
        """Payloads by their paths, and those that are within others.

        `starts` says where the values of fields stand, counted from `origin` of `data`, and gets those that are within. `hidden` are spans by path.
        """
        for payload in payloads:
            at = starts.get(payload.path)
            if at is None or bytes(data[at - origin : at - origin + payload.size]) != bytes(payload.data):
                continue  # of what was decompressed first there is no place
            if payload.body:
                starts |= {f"{payload.path}.{span.path}": at + span.value for span in payload.body.spans}
            self._payload(payload, (at, at + payload.size), hidden.get(payload.path, NOTHING))

    def _payload(self, payload: Payload, at: tuple[int, int], hidden: frozenset[int]) -> None:
        version = "" if payload.version is None else f" version {payload.version}"
        guess = ", guessed" if payload.guess else ""
        body = payload.body
        if not body:
            self.text(at, f"({payload.type}{version})", dumps(payload.json_data(hidden=hidden), indent=False))
            return

        def below(outline: Outline, place: Place, depth: int) -> None:
            outline.node(depth, "(means)", "", place.row, [(f"{body.message}{version}", "title"), (guess, "warning")])
            del self.found[at]  # within it, its only field may be all of it
            Part(self.catalog, body, hidden, place.buffer, at[0], self.found).add(outline, depth + 1)
            self.found[at] = below

        self.found[at] = below

    def forwarded(self, frame: Frame, at: int, hidden: Mapping[str, frozenset[int]]) -> None:
        """A request or response in a field, whose data are those around it."""

        def below(outline: Outline, place: Place, depth: int) -> None:
            for name, part in frame.parts:
                where = (place.buffer, part.start, part.start, part.stop)
                outline.node(depth, f"({name})", "", where, [(f"{part.message} version {part.version}", "dim")])
                Part(self.catalog, part, hidden.get(name, NOTHING), place.buffer).add(outline, depth + 1)

        self.found[at, frame.stop] = below
