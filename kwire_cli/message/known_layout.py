"""Frames read without ado: a known api, a known version, a whole header as the connection had it before. What lines of
captures are made from.

`message.reading` is the general way; what is given here is the same, and a test holds one against the other. Whatever
is odd is left to that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.folds import OddError, fold_of
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.shapes import Shape, Shapes
from kwire_cli.engine.spans import Spans
from kwire_cli.errors import InputError
from kwire_cli.message.encode import decode_header, head_size, header_version
from kwire_cli.message.frames import SIZE_BYTES, holds
from kwire_cli.message.roles import (
    RAW,
    RecordsAs,
    Roles,
    filled,
    holds_records,
    marked_values,
    role_values,
    roles,
    top_reader,
    top_value,
    topics_reader,
)
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.catalog import Catalog


_TOPICS = "the topics"
"""The name of a reader that no field has."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The common properties of all frames of one kind, api and version.

    In all of these frames the bytes that follow the correlation id stand at `tail_at`.
    """

    kind: str
    api_key: int
    api: str
    version: int
    header_version: int
    message: str
    entry: Entry
    roles: Roles
    shapes: Shapes
    has_records: bool
    tail_at: int


class Layouts:
    """The layouts of a catalogue, each made when first asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._known: dict[tuple[str, int, int], Layout | None] = {}

    def get(self, kind: str, api_key: int, version: int) -> Layout | None:
        """None where frames of this kind cannot be read without ado: of an unknown api or version, or by more than one
        layout.
        """
        key = (kind, api_key, version)
        if key not in self._known:
            self._known[key] = self._make(kind, api_key, version)
        return self._known[key]

    def _make(self, kind: str, api_key: int, version: int) -> Layout | None:
        catalog = self.catalog
        api = catalog.api_by_key(api_key)
        message = api and (api.request if kind == "request" else api.response)
        # An ApiVersions response may be of version 0 whatever was asked for, and some clients write its request oddly.
        # What holds other messages is rare, and is shown with them.
        if not api or not message or api_key == API_VERSIONS or catalog.ambiguous(message, version) or holds(message):
            return None
        spec = catalog.message(message)
        if version not in spec.valid_versions:
            return None
        try:
            header = header_version(catalog, kind, api_key, version)
        except InputError:
            return None
        entry = entry_for(spec, version)
        found = roles(spec, entry)
        shapes = Shapes(entry, found.by_node)
        tail_at = SIZE_BYTES + head_size(catalog, kind)
        return Layout(
            kind, api_key, api.name, version, header, spec.name, entry, found, shapes, holds_records(entry), tail_at
        )


class Tail(NamedTuple):
    """The part of a header that follows the correlation id: the bytes, and the fields in them.

    `form` is the JSON of a frame with this header, from its kind to its header's end. It is a format for the frame's
    size and correlation id.
    """

    data: bytes
    rest: dict[str, Any]
    form: str


class Plain:
    """A request or response of a known layout. `tail` is what follows the correlation id in its header, `start` where
    its body begins.
    """

    __slots__ = ("_found", "correlation_id", "data", "layout", "start", "tail")

    def __init__(self, layout: Layout, data: bytes, correlation_id: int, tail: Tail, start: int) -> None:
        self.layout, self.data, self.correlation_id, self.tail, self.start = layout, data, correlation_id, tail, start
        self._found: Shape | Spans | None = None

    def found(self) -> Shape | Spans:
        """The shape of its body, or its spans where it has none; OddError where it is not whole, or has bytes that no
        correct writer would write.
        """
        found = self._found
        if found is None:
            found = self.layout.shapes.walk(self.data, self.start)
            if isinstance(found, Spans) and (found.flags or found.lost >= 0):
                raise OddError
            self._found = found
        return found

    @property
    def spans(self) -> Spans:
        """The spans of the body. Raises OddError as `found` does."""
        found = self.found()
        return found if isinstance(found, Spans) else found.of(self.data)

    @property
    def roles(self) -> dict[str, list[bytes]]:
        """The values in the body that have a role, by role; OddError as `found`."""
        found = self.found()
        if isinstance(found, Spans):
            return role_values(self.layout.roles, found)
        return marked_values(self.layout.roles, found.marked, self.data)

    @property
    def topics(self) -> tuple[list[str], list[str]] | None:
        """The topic names and the topic ids in a body that has a shape; None for others; OddError as `found`."""
        found = self.found()
        if isinstance(found, Spans):
            return None
        read = found.readers.get(_TOPICS)
        if read is None:
            read = found.readers[_TOPICS] = topics_reader(self.layout.roles, found.marked)
        topics: tuple[list[str], list[str]] = read(self.data)
        return topics

    def top(self, name: str) -> Any:
        """The value of a field of the message itself; OddError as `found`."""
        found = self.found()
        if isinstance(found, Spans):
            return top_value(self.layout.roles, found, name)
        read = found.readers.get(name)
        if read is None:
            read = found.readers[name] = top_reader(self.layout.roles, found.spans, name)
        return read(self.data)

    def text(self, records: str | Callable[[bytes], str]) -> str | None:
        """The JSON of the body, where that is made faster than its value; OddError where it has an anomaly.

        `records` is how they are shown, or what makes the JSON of a records field.
        """
        found = self.found()
        if isinstance(found, Spans):
            return None
        made = found.texts.get(records) or found.text(records)
        return made.of(self.data, self.start) if made else None

    @property
    def header(self) -> dict[str, Any]:
        """The header in JSON form, as `Frame.to_json` shows it."""
        return {"headerVersion": self.layout.header_version, "correlationId": self.correlation_id, **self.tail.rest}

    def body(self, records: str = "base64", reading: RecordsAs | None = None) -> dict[str, Any]:
        """The body in JSON form, as `Decoded.to_json` has it; OddError where it has an anomaly."""
        layout = self.layout
        if records != "decoded" or not layout.has_records:
            return fold_of(layout.entry, "base64" if records == "decoded" else records)(self.spans)
        return filled(layout.roles, fold_of(layout.entry, RAW)(self.spans), reading or RecordsAs())


def may_hide(message: str) -> bool:
    """Return whether a message may hold secrets."""
    from kwire_cli.message.roles import can_hold_secrets  # noqa: PLC0415 - hardly any client id asks for it

    return can_hold_secrets(message)


class Headers:
    """The headers of one connection. What follows the correlation id hardly ever changes, so that comparing it is all
    the reading there is.
    """

    __slots__ = ("_catalog", "_tails")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tails: dict[Layout, Tail] = {}

    def plain(self, layout: Layout, data: bytes, correlation_id: int) -> Plain | None:
        """The frame with this layout; None where its header is not whole, or odd."""
        at = layout.tail_at
        tail = self._tails.get(layout)
        if tail is None or not data.startswith(tail.data, at):
            header = decode_header(
                self._catalog, layout.kind, layout.header_version, data, start=SIZE_BYTES, stop=len(data)
            )
            if not header.complete or header.anomalies:
                return None
            client_id = header.value.get("clientId")
            if client_id and not client_id.isprintable() and may_hide(layout.message):
                return None  # where bytes were lost, a secret may stand here
            rest = {
                name: value
                for name, value in header.value.items()
                if name not in {"requestApiKey", "requestApiVersion", "correlationId"}
            }
            tail = self._tails[layout] = Tail(bytes(data[at : header.raw.used]), rest, _form(layout, rest))
        return Plain(layout, data, correlation_id, tail, at + len(tail.data))

    def names(self, client_id: str | None) -> bool:
        """Return whether a request of the connection had this client id, which is not empty."""
        return (
            bool(client_id)
            and str(client_id).isprintable()
            and any(tail.rest.get("clientId") == client_id for tail in self._tails.values())
        )


def _form(layout: Layout, rest: dict[str, Any]) -> str:
    api = f'"apiKey":{layout.api_key},"api":{_json(layout.api)},"apiVersion":{layout.version}'
    header = f'"headerVersion":{layout.header_version},"correlationId":%d' + "".join(
        f",{_json(name)}:{_json(rest[name])}" for name in rest
    )
    return f'"kind":"{layout.kind}","size":%d,{api},"header":{{{header}}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("%", "%%")
