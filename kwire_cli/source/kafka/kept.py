"""A reader of the frames between two ends, put away as bytes and taken up again.

What is put away is what TCP, TLS and Kafka need to go on: holes, parts of frames, keys, requests that wait. Layouts,
and what was read by them, are not in it: these are of the catalogue of whoever takes it up. Names, origin and key logs
are given again, too.
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
"""Types of values that were read from bytes that are kept: they are read again on demand."""
_OURS = ("kwire_cli.", "collections", "functools")


def put_away(reader: EndsReader) -> bytes:
    """Return all that a reader knows of its connections; what it found before must have been taken."""
    reader.forget_starts()
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump((reader, reader.tls.streams))
    return out.getvalue()


def taken_up(kept: bytes, layouts: Layouts, names: Names, origin: Origin, tls: Decryption) -> EndsReader:
    """Return a reader that was put away by the same kwire. `tls` is new, and has the same key logs.

    Packets go on to be numbered as before: `origin` also knows the places of those before that begin what goes on.
    """
    given: dict[str, Any] = {"Layouts": layouts, "Catalog": layouts.catalog, "Names": names, "Origin": origin}
    reader: EndsReader
    reader, streams = _Unpickler(io.BytesIO(kept), given | {"Decryption": tls}).load()
    tls.go_on(streams)
    return reader


class _Pickler(pickle.Pickler):
    """Names what is given again, and leaves out what can be read again."""

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the reference that stands for an object, or None for an object that is pickled."""
        kind = type(obj)
        if kind in {Layouts, Catalog, Names, Decryption, KeyLog}:
            return (kind.__name__,)
        if kind is Layout:
            return "Layout", obj.kind, obj.api_key, obj.version
        if isinstance(obj, Origin):
            return ("Origin",)
        return ("nothing",) if kind in _SHOWN_AGAIN else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, given: dict[str, Any]) -> None:
        super().__init__(data)
        self._given = given

    def persistent_load(self, pid: Any) -> Any:
        """Return the object that was named."""
        what, *which = pid
        if what == "Layout":
            return self._given["Layouts"].get(*which)
        return self._given["Decryption"].keys if what == KeyLog.__name__ else self._given.get(what)

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of what is put away; nothing else is taken up."""
        if module.startswith(_OURS) or (module, name) == ("builtins", "getattr"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not of a connection")
