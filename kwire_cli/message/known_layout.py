"""Fast path for well-formed frames of known layouts whose header matches the previous one on the connection.

Lines of captures are made from these frames; fields are decoded on demand. Any other frame is read by
`message.frames`, which gives the same results; a test cross-checks the two.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.program import holds_records
from kwire_cli.engine.python_source import Read
from kwire_cli.engine.reader import OFTEN, SKIP, reader_of
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form, is_regular, tree_value
from kwire_cli.errors import InputError
from kwire_cli.message.encode import decode_header, head_size, heads
from kwire_cli.message.frames import SIZE_BYTES, holds
from kwire_cli.message.roles import (
    RAW,
    RecordsAs,
    Roles,
    all_error_codes,
    can_hold_secrets,
    filled,
    role_values,
    roles,
    top_value,
    topic_names,
    topics_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog


MAX_RECENT = 8
"""Recent header ends compared before a header is decoded. Most clients open several connections in succession."""
SMALL = 1 << 10
"""Below this size the kernel's spans return the values of a body faster than a compiled reader."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The common properties of all frames of one kind, api and version.

    In all of these frames the bytes after the correlation id start at `tail_at`. `recent` are the latest ends of
    headers, of all connections.
    """

    kind: str
    api_key: int
    api: str
    version: int
    header_version: int
    message: str
    entry: Entry
    roles: Roles
    readers: Readers
    has_records: bool
    tail_at: int
    recent: deque[Tail]


@lru_cache(maxsize=2)
def layouts(catalog: Catalog) -> Layouts:
    """Return the layouts of this process, shared by all connections with the same definitions."""
    return Layouts(catalog)


class Layouts:
    """The layouts of a catalogue, each made when first asked for, and the heads with which frames begin."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.request_head, self.response_head = heads()
        self._known: dict[tuple[str, int, int], Layout | None] = {}

    def get(self, kind: str, api_key: int, version: int) -> Layout | None:
        """Return None for frames of an unknown api or version, and for those that hold other messages."""
        key = (kind, api_key, version)
        try:
            return self._known[key]
        except KeyError:
            layout = self._known[key] = self._make(kind, api_key, version)
            return layout

    def _make(self, kind: str, api_key: int, version: int) -> Layout | None:
        catalog = self.catalog
        api = catalog.api_by_key(api_key)
        message = api and (api.request if kind == "request" else api.response)
        # Messages that contain other messages are rare, and are shown with them.
        if not api or not message or holds(message):
            return None
        spec = catalog.message(message)
        if version not in spec.valid_versions:
            return None
        try:
            header = catalog.header_version(kind, api_key, version)
        except InputError:
            return None
        entry = entry_for(spec, version)
        field_roles = roles(spec, entry)
        tail_at = SIZE_BYTES + head_size(kind)
        return Layout(
            kind,
            api_key,
            api.name,
            version,
            header,
            spec.name,
            entry,
            field_roles,
            Readers(entry, field_roles),
            holds_records(entry),
            tail_at,
            deque(maxlen=MAX_RECENT),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The part of a header that follows the correlation id: the bytes, and the fields in them.

    `form` is the JSON of a frame with this header, from its kind to its header's end. It is a format for the frame's
    size and correlation id.
    """

    data: bytes
    rest: dict[str, Any]
    form: str


NO_TAIL = Tail(b"", {}, "")
"""The tail of a body without its header."""


class Readers:
    """The readers of a layout. `form` is the last requested form of a body; `read` reads the next body in this form."""

    __slots__ = ("_counts", "_entry", "_known", "_roles", "form", "read")

    def __init__(self, entry: Entry, known: Roles) -> None:
        self._entry = entry
        self._roles = known
        self._counts: dict[str, int] = {}
        self._known: dict[str, Callable[[Any, int, int], Read]] = {}
        self.select_form(SKIP)

    def select_form(self, form: str) -> None:
        """Make this the form of the next bodies."""
        self.form = form
        self.read = self._known.get(form, self._first)

    def _first(self, data: Any, start: int, stop: int) -> Read:
        """Read one of the first bodies from the kernel's spans. Compiling a reader pays off for many bodies or a large
        one.
        """
        form = self.form
        self._counts[form] = count = self._counts.get(form, 0) + 1
        is_small = form == SKIP or stop - start < SMALL
        if is_small and count < OFTEN and is_regular(spans := walk(self._entry, data, start, stop)):
            values = role_values(self._roles, spans)
            body = {} if form == SKIP else tree_value(build(self._entry, spans), Form(form))
            return Read(body, *topics_in(values), all_error_codes(values), topic_names(self._roles, spans))
        self.read = self._known[form] = reader_of(self._entry, form, self._roles.by_node, self._roles.naming)
        return self.read(data, start, stop)


class Plain:
    """A request or response of a known layout.

    `tail` are the bytes after the correlation id in its header, `start` the start of its body.
    """

    __slots__ = ("_form", "_read", "correlation_id", "data", "layout", "start", "tail")

    def __init__(self, layout: Layout, data: bytes, correlation_id: int, tail: Tail, start: int) -> None:
        self.layout = layout
        self.data = data
        self.start = start
        self.correlation_id = correlation_id
        self.tail = tail
        self._read: Read | None = None
        self._form = ""

    def read(self) -> Read:
        """Return the contents of the body in the form of its layout. Raise MalformedError if it may be malformed."""
        contents = self._read
        if contents is None:
            readers = self.layout.readers
            data = self.data
            self._form = readers.form
            contents = self._read = readers.read(data, self.start, len(data))
        return contents

    def release(self) -> None:
        """Drop the contents of the body."""
        self._read = None
        self._form = ""

    @property
    def spans(self) -> Spans:
        """The spans of the body."""
        return walk(self.layout.entry, self.data, self.start)

    def top(self, name: str) -> Any:
        """Return the value of a field of the message itself; MalformedError as `read`."""
        field_roles = self.layout.roles
        if name not in field_roles.top:
            return None
        field_value = (self._read or self.read()).value.get(name)
        if field_value is not None and type(field_value) is not bytes:
            return field_value
        return top_value(field_roles, self.spans, name)

    @property
    def header(self) -> dict[str, Any]:
        """The header in JSON form, as in `Frame.to_json`."""
        return {"headerVersion": self.layout.header_version, "correlationId": self.correlation_id, **self.tail.rest}

    def body(self, records: str = "base64", reading: RecordsAs | None = None) -> dict[str, Any]:
        """Return the body in JSON form, as in `Decoded.to_json`. Raise MalformedError if it may be malformed."""
        layout = self.layout
        decoded = records == "decoded" and layout.has_records
        form = records
        if decoded:
            form = RAW
        elif not layout.has_records:
            form = "base64"
        contents = self._read
        if contents is None or form != self._form:
            readers = layout.readers
            if readers.form != form:
                readers.select_form(form)
            contents = self._read = readers.read(self.data, self.start, len(self.data))
            self._form = form
        if not decoded:
            return contents.value
        self._form = ""  # the value is changed below
        return filled(layout.roles, contents.value, reading or RecordsAs())


@lru_cache(maxsize=1024)
def _shared(tails: tuple[tuple[Layout, Tail], ...]) -> Mapping[Layout, Tail]:
    """Return the tails of a connection by layout, in a mapping that all connections with the same tails share."""
    return dict(tails)


class Headers:
    """The headers of one connection. The bytes after the correlation id rarely change, so usually they are only
    compared with the known bytes, not decoded.
    """

    __slots__ = ("_catalog", "_tails")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tails = _shared(())

    def plain(self, layout: Layout, data: bytes, correlation_id: int) -> Plain | None:
        """Return the frame with this layout, or None if its header is incomplete or malformed."""
        at = layout.tail_at
        tail = self._tails.get(layout)
        if tail is None or not data.startswith(tail.data, at):
            tail = next((recent for recent in layout.recent if data.startswith(recent.data, at)), None)
            tail = tail or self._decode_tail(layout, data)
            if tail is None:
                return None
            self._tails = _shared((*{**self._tails, layout: tail}.items(),))
        return Plain(layout, data, correlation_id, tail, at + len(tail.data))

    def _decode_tail(self, layout: Layout, data: bytes) -> Tail | None:
        """Decode the bytes after the correlation id of a header; None if they are incomplete or malformed."""
        header = decode_header(
            self._catalog, layout.kind, layout.header_version, data, start=SIZE_BYTES, stop=len(data)
        )
        if not header.complete or header.anomalies:
            return None
        client_id = header.value.get("clientId")
        if client_id and not client_id.isprintable() and can_hold_secrets(layout.message):
            return None  # if bytes are missing, these may be a secret
        rest = {
            name: value
            for name, value in header.value.items()
            if name not in {"requestApiKey", "requestApiVersion", "correlationId"}
        }
        tail = Tail(bytes(data[layout.tail_at : header.raw.used]), rest, _form(layout, rest))
        layout.recent.append(tail)
        return tail

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
