"""Saves the reader of a connection as bytes, and restores it in another task.

The saved state contains what TCP, TLS and Kafka need to continue: incomplete segments, partial frames, keys, and
requests without a response. It contains no layouts and no values decoded by them, because both belong to the catalog of
the restoring task. Names, origin and key logs are passed to the restored reader too.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.python_source import Read
from kwire_cli.message.frames import Frame
from kwire_cli.message.known_layout import Layout, Layouts
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.packets.model import Origin
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.source.tls.keylog import KeyLog
from kwire_cli.spec.catalog import Catalog

if TYPE_CHECKING:
    from kwire_cli.source.kafka.bulk_frames import EndsReader

_SHOWN_AGAIN = (Frame, Read)
"""Types of values that are decoded from saved bytes. They are decoded again on demand."""
_OURS = ("kwire_cli.", "collections", "functools")


def put_away(reader: EndsReader) -> bytes:
    """Return the state of a reader. Its events must have been taken before."""
    reader.forget_starts()
    watch = reader.lines.watch
    on_ended = watch.on_ended
    watch.on_ended = None  # the caller of the restored reader sets its own
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump((reader, reader.tls.streams))
    watch.on_ended = on_ended
    return out.getvalue()


def taken_up(kept: bytes, layouts: Layouts, names: Names, origin: Origin, tls: Decryption) -> EndsReader:
    """Restore a reader that the same version of kwire saved. `tls` is new, with the same key logs.

    Packet numbers continue. So `origin` must also know the places of earlier packets with incomplete frames.
    """
    replacements: dict[str, Any] = {
        "Layouts": layouts,
        "Catalog": layouts.catalog,
        "Names": names,
        "Origin": origin,
        "Decryption": tls,
    }
    reader: EndsReader
    reader, streams = _Unpickler(io.BytesIO(kept), replacements).load()
    tls.go_on(streams)
    return reader


class _Pickler(pickle.Pickler):
    """Writes references instead of objects that the restoring task provides, and None instead of decoded values."""

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the reference to write instead of an object, or None to pickle it."""
        kind = type(obj)
        if kind in {Layouts, Catalog, Names, Decryption, KeyLog}:
            return (kind.__name__,)
        if kind is Layout:
            return "Layout", obj.kind, obj.api_key, obj.version
        if isinstance(obj, Origin):
            return ("Origin",)
        return ("nothing",) if kind in _SHOWN_AGAIN else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, replacements: dict[str, Any]) -> None:
        super().__init__(data)
        self._replacements = replacements

    def persistent_load(self, pid: Any) -> Any:
        """Return the object for a reference."""
        kind, *which = pid
        if kind == "Layout":
            return self._replacements["Layouts"].get(*which)
        return self._replacements["Decryption"].keys if kind == KeyLog.__name__ else self._replacements.get(kind)

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that saved states contain. Raise UnpicklingError for any other."""
        if module.startswith(_OURS) or (module, name) == ("builtins", "getattr"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not of a connection")
