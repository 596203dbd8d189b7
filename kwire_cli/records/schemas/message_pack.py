"""MessagePack values as JSON."""

from __future__ import annotations

import base64
import contextlib
import json
from datetime import datetime, timedelta
from typing import Any

import msgpack

from kwire_cli.records.schemas.model import UnfitError, Value
from kwire_cli.records.schemas.plain import DEEPEST, finite

_REPEATED = "keys of a map have the same text: their values are a list"


def read(data: bytes, start: int) -> Value:
    """Return a MessagePack value as JSON. Keys of maps become text."""
    try:
        value = msgpack.unpackb(
            memoryview(data)[start:], raw=False, strict_map_key=False, timestamp=0, object_pairs_hook=_object,
            unicode_errors="surrogateescape",
        )  # fmt: skip
        form = _Form()
        return Value(form.json(value, 0), note=_REPEATED if form.repeats else "")
    except msgpack.ExtraData as error:
        raise UnfitError(
            f"the last {len(error.extra)} of the {len(data) - start} bytes are not part of the value"
        ) from None
    except (msgpack.FormatError, msgpack.StackError, ValueError, TypeError, OverflowError, RecursionError):
        raise UnfitError("the bytes are not MessagePack, or end early") from None


class _Map(list[Any]):
    """The pairs of a map."""


def _object(pairs: Any) -> _Map:
    return _Map(pairs)


class _Form:
    """The JSON form of a value. `repeats` is whether keys of a map have the same text, as 1 and "1" have."""

    def __init__(self) -> None:
        self.repeats = False

    def json(self, value: Any, depth: int) -> Any:
        """Return a value as JSON."""
        if depth > DEEPEST:
            raise UnfitError(f"the value nests more than {DEEPEST} levels deep")
        if isinstance(value, _Map):
            return self._object(value, depth + 1)
        if isinstance(value, list):
            return [self.json(part, depth + 1) for part in value]
        return _scalar(value)

    def _object(self, pairs: _Map, depth: int) -> dict[str, Any]:
        """Return a map, in which the values of keys with the same text are a list, so that patterns of fields to
        redact apply to all of them.
        """
        values: dict[str, list[Any]] = {}
        for key, part in pairs:
            values.setdefault(self._key(key), []).append(self.json(part, depth))
        self.repeats = self.repeats or len(values) < len(pairs)
        return {key: parts[0] if len(parts) == 1 else parts for key, parts in values.items()}

    def _key(self, key: Any) -> str:
        """Return the key of a map as text. Bytes that are UTF-8 are text too. Other keys become JSON."""
        if isinstance(key, bytes):
            with contextlib.suppress(UnicodeDecodeError):
                return key.decode()
        shown = self.json(list(key) if isinstance(key, tuple) else key, 0)
        return shown if isinstance(shown, str) else json.dumps(shown)


def _scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, msgpack.ExtType):
        return {"type": value.code, "data": base64.b64encode(value.data).decode("ascii")}
    return _moment(value) if isinstance(value, msgpack.Timestamp) else value


def _moment(value: msgpack.Timestamp) -> Any:
    """Return a timestamp as text, with nanoseconds where it has them; beyond the years 1 to 9999 it stays bytes."""
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=value.seconds)  # noqa: DTZ001 - the text says that it is UTC
    except OverflowError:
        return {"type": -1, "data": base64.b64encode(value.to_bytes()).decode("ascii")}
    part = f".{value.nanoseconds:09d}".removesuffix("000") if value.nanoseconds else ""
    return f"{moment.isoformat()}{part}Z"
