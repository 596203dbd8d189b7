"""The tables `bodies_<api>_<kind>`: messages as typed nested columns, one table for all versions of a message.

The type of a table is the union of the types of all versions. The bodies of one version are converted to it column by
column. Secret fields are left out, or become null if only their values tell that they are secret.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import Columns, arrow_type
from kwire_cli.engine.compiled import jobs_of, octets, walk_many
from kwire_cli.engine.lower import entry_for
from kwire_cli.facts.bodies import RECORDS_SIZE, table_of
from kwire_cli.facts.columnar.arrays import ARROW_OF_DUCKDB, TIME, WORD, times
from kwire_cli.message.roles import CONFIG_VALUES, FORWARDED, SECRET_FIELDS
from kwire_cli.message.secrets import hides_value
from kwire_cli.records.batch import base64_text
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.spec.model import fields_by_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from kwire_cli.engine.compiled import Walk
    from kwire_cli.facts.columnar.regular import Regular
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.model import MessageSpec

    Ints = npt.NDArray[np.int64]
PLACE = (
    pa.field("file", WORD),
    pa.field("packet", pa.int64()),
    pa.field("time", TIME),
    pa.field("connection", pa.int64()),
    pa.field("frame", pa.int64()),
    pa.field("api_version", pa.int32()),
)
"""The first columns, which identify the row of a body in `frames`."""
AT_ONCE = 8 << 20
"""Approximate bytes of bodies that are walked together."""


# Types. One type has the fields of all versions of a message.


@cache
def body_type(spec: MessageSpec, *, show_secrets: bool = False) -> pa.DataType:
    """Return the type of the bodies of a message: the fields of all versions, beginning with the newest version.

    Raises:
        TypeError: A version cannot be represented by columns.

    """
    valid = spec.valid_versions
    merged: pa.DataType = pa.struct([])
    for version in range(valid.high, valid.low - 1, -1):
        merged = _union(merged, _shown(arrow_type(entry_for(spec, version).root), spec, "", show_secrets))
    return merged


def _shown(kind: pa.DataType, spec: MessageSpec, path: str, show_secrets: bool) -> pa.DataType:  # noqa: FBT001 - of `body_type`
    """Return a type without secret fields, and with the sizes of records in place of the records."""
    if pa.types.is_list(kind):
        return pa.list_(_shown(kind.value_type, spec, f"{path}[]", show_secrets))
    if not pa.types.is_struct(kind):
        return kind
    out = []
    for each in kind:
        own = f"{path}.{each.name}" if path else each.name
        if _is_records(spec, own):
            out.append(pa.field(each.name + RECORDS_SIZE, pa.int32()))
        elif (show_secrets or not _is_secret(spec, own)) and not _is_empty(
            kept := _shown(each.type, spec, own, show_secrets)
        ):
            out.append(pa.field(each.name, kept))
    return pa.struct(out)


def _is_empty(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_list(kind) else kind
    return bool(pa.types.is_struct(inner) and not inner.num_fields)


def _union(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type that can represent the values of both types."""
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_union(one.value_type, other.value_type))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        types = {each.name: each.type for each in one}
        for each in other:
            types[each.name] = _union(types[each.name], each.type) if each.name in types else each.type
        return pa.struct([pa.field(name, kind) for name, kind in types.items()])
    if one.equals(other):
        return one
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return one if one.bit_width >= other.bit_width else other
    return pa.string()


@cache
def _fields(spec: MessageSpec) -> dict[str, str]:
    return {path: each.type for path, each in fields_by_path(spec)}


def _is_records(spec: MessageSpec, path: str) -> bool:
    return _fields(spec).get(path) == "records"


def _is_secret(spec: MessageSpec, path: str) -> bool:
    return path in SECRET_FIELDS.get(spec.name, ()) or path == FORWARDED.get(spec.name)


def arrow_kind(structure: Any) -> pa.DataType:
    """Return the structure of a body (`kwire_cli.facts.bodies`) as a type of Arrow."""
    if isinstance(structure, dict):
        return pa.struct([pa.field(name, arrow_kind(kind)) for name, kind in structure.items()])
    return pa.list_(arrow_kind(structure[0])) if isinstance(structure, list) else ARROW_OF_DUCKDB[structure]


def conform(values: pa.Array, kind: pa.DataType, spec: MessageSpec, path: str, secret: pa.Array | None) -> pa.Array:
    """Convert values of a version to the type of all versions. Fields that the version lacks become null.

    `secret` marks values in a sensitive config, whose config values become null. With None, nothing is hidden.
    """
    if pa.types.is_list(kind):
        below = None if secret is None else secret.take(pc.list_parent_indices(values))
        inner = conform(values.flatten(), kind.value_type, spec, f"{path}[]", below)
        lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        mask = values.is_null() if values.null_count else None
        return pa.ListArray.from_arrays(pa.array(offsets), inner, type=kind, mask=mask)
    if not pa.types.is_struct(kind):
        return _plain(values, kind)
    own = {each.name: number for number, each in enumerate(values.type)}
    config_values = CONFIG_VALUES.get(spec.name, ())
    if secret is not None and any((f"{path}.{name}" if path else name) in config_values for name in own):
        secret = _sensitive(values, own, secret)
    columns = []
    for each in kind:
        name = each.name
        below_path = f"{path}.{name}" if path else name
        if name in own:
            column = conform(pc.struct_field(values, own[name]), each.type, spec, below_path, secret)
            if secret is not None and below_path in config_values:
                hides = pc.and_(secret, pc.greater(pc.binary_length(column), 0).fill_null(fill_value=False))
                column = pc.if_else(hides, pa.scalar(None, column.type), column)
        elif name.endswith(RECORDS_SIZE) and (records := name.removesuffix(RECORDS_SIZE)) in own:
            column = pc.binary_length(pc.struct_field(values, own[records])).cast(pa.int32())
        else:
            column = pa.nulls(len(values), each.type)
        columns.append(column)
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)


def _plain(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert values that are not structs to another type: binary values become base64 strings."""
    if pa.types.is_binary(values.type) and pa.types.is_string(kind):
        texts = (None if each is None else base64_text(each) for each in values.to_pylist())
        return pa.array(texts, kind)
    return values if values.type.equals(kind) else values.cast(kind)


def body_column(spec: MessageSpec, version: int, walk: Walk, kind: pa.DataType, *, show_secrets: bool) -> pa.Array:
    """Return the complete bodies of a walk in the type of all versions.

    Raises:
        TypeError: A form of the version depends on other fields, so it cannot be represented by columns.

    """
    whole = np.flatnonzero(walk.complete)
    read = walk if len(whole) == len(walk.jobs) else walk.only(whole)
    body = Columns(entry_for(spec, version), read).root()
    none_secret = None if show_secrets else pa.array(np.zeros(len(whole), np.bool_))
    return conform(body, kind, spec, "", none_secret)


def _sensitive(values: pa.Array, own: dict[str, int], secret: pa.Array) -> pa.Array:
    """Return which structs are in sensitive configs: by their names, their flags, or the structs around them."""
    name = next((each for each in ("name", "key") if each in own), None)
    if name is not None and pa.types.is_string(values.type.field(own[name]).type):
        encoded = pc.struct_field(values, own[name]).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        sensitive = pa.array([hides_value(text) for text in texts], pa.bool_())
        secret = pc.or_(secret, sensitive.take(encoded.indices).fill_null(fill_value=True))
    if "isSensitive" in own:
        secret = pc.or_(secret, pc.struct_field(values, own["isSensitive"]).fill_null(fill_value=False))
    return secret


# Bodies of frames.


class Table(NamedTuple):
    """Bodies: the name of their table, and rows."""

    name: str
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class _Body:
    """A body of a single line, with the key of its row. `api_version` is the version of the request."""

    data: bytes
    file: str | None
    packet: int | None
    time: int
    connection: int
    frame: int
    api_version: int


class Bodies:
    """The bodies of frames by message."""

    def __init__(self, redaction: Redaction) -> None:
        self._catalog = redaction.catalog
        self._show_secrets = redaction.show_secrets
        self._held: dict[tuple[str, str, MessageSpec, int], list[_Body]] = defaultdict(list)
        self._size = 0

    def regular(self, regular: Regular) -> Iterator[Table]:
        """Yield the bodies of regular frames, layout by layout."""
        for values, part in regular.parts():
            frames = values.frames
            layout = frames.layout
            place = [
                regular.file.slice(part.start, values.count),
                regular.packet.slice(part.start, values.count),
                times(frames.time),
                pa.array(regular.connection[part]),
                pa.array(frames.number),
                pa.array(np.full(values.count, layout.version, np.int32)),
            ]
            spec = self._catalog.message(layout.message)
            yield from self._rows(layout.api, layout.kind, spec, layout.version, frames.walk, place)

    def line(self, line: Captured) -> Iterator[Table]:
        """Add the body of a line that is not regular. Yield bodies when there are enough of them."""
        body = self._body_of(line)
        if body is None:
            return
        spec, version, data = body
        time = NO_TIME if line.seen.time is None else line.seen.time
        api_version = version if line.api_version is None else line.api_version  # a response may have another version
        held = self._held[line.api or "", line.kind, spec, version]
        held.append(_Body(data, *line.where, time, line.connection.key, line.number, api_version))
        self._size += len(data)
        if self._size > AT_ONCE:
            yield from self.close()

    def close(self) -> Iterator[Table]:
        """Yield the bodies that are still in memory."""
        held = self._held
        self._held = defaultdict(list)
        self._size = 0
        for (api, kind, spec, version), bodies in held.items():
            entry = entry_for(spec, version)
            stops = np.cumsum([len(body.data) for body in bodies])
            data = octets(b"".join(body.data for body in bodies) or b"\0")
            starts = np.concatenate(([0], stops[:-1]))
            walk = walk_many(entry.program, data, jobs_of(entry, starts, stops))
            place = [
                pa.array([body.file for body in bodies], pa.string()).dictionary_encode(),
                pa.array([body.packet for body in bodies], pa.int64()),
                times(np.array([body.time for body in bodies], np.int64)),
                pa.array([body.connection for body in bodies], pa.int64()),
                pa.array([body.frame for body in bodies], pa.int64()),
                pa.array([body.api_version for body in bodies], pa.int32()),
            ]
            yield from self._rows(api, kind, spec, version, walk, place)

    def _rows(
        self, api: str, kind: str, spec: MessageSpec, version: int, walk: Walk, place: list[pa.Array]
    ) -> Iterator[Table]:
        whole = np.flatnonzero(walk.complete)
        if not len(whole):
            return
        try:
            shown = body_type(self._catalog.message(spec.name), show_secrets=self._show_secrets)
            body = body_column(spec, version, walk, shown, show_secrets=self._show_secrets)
        except TypeError:  # a form that depends on other fields cannot be represented by columns
            return
        rows = pa.array(whole)
        columns = place if len(whole) == len(walk.jobs) else [column.take(rows) for column in place]
        columns = [*columns]
        fields = [*PLACE]
        if shown.num_fields:  # Parquet has no structs without fields
            columns.append(body)
            fields.append(pa.field("body", shown))
        yield Table(table_of(api, kind), pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))

    def _body_of(self, line: Captured) -> tuple[MessageSpec, int, bytes] | None:
        """Return the layout, the version and the bytes of the body of a line, or None if they are not certain."""
        if plain := line.plain if line.is_frame else None:
            return self._catalog.message(plain.layout.message), plain.layout.version, plain.data[plain.start :]
        frame = line.frame
        if (
            frame is None
            or line.read is None
            or frame.body is None
            or frame.body.version not in frame.body.spec.valid_versions
        ):
            return None
        raw = frame.body.raw
        return frame.body.spec, frame.body.version, bytes(raw.data[raw.start : raw.stop])
