"""Other readers of the same bytes. Each returns a function that reads one body, or None where it does not know the
message.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from inputs import Body


def kio() -> Callable[[Body], Callable[[bytes], Any] | None]:
    """kio: dataclasses, its reader written in Rust."""
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type] # kio imports it where it happens to be installed
    from kio.serial import entity_reader

    @cache
    def reader(api: str, version: int) -> Any:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", api).lower()
        try:
            module = import_module(f"kio.schema.{name}.v{version}.response")
        except ImportError:
            return None
        return entity_reader(getattr(module, f"{api}Response"))

    def of(body: Body) -> Callable[[bytes], Any] | None:
        read = reader(body.api, body.version)
        if read is None or not _reads(lambda: read(body.data, 0)[1] == len(body.data)):
            return None
        return lambda data: read(data, 0)[0]

    return of


def kafka_python() -> Callable[[Body], Callable[[bytes], Any] | None]:
    """kafka-python: objects, in Python."""
    import kafka.protocol as package

    classes = {}
    for area in ("metadata", "consumer", "producer", "admin", "broker", "sasl"):
        try:
            module = import_module(f"{package.__name__}.{area}")
        except ImportError:
            continue
        classes.update({name: thing for name, thing in vars(module).items() if name.endswith("Response")})

    def of(body: Body) -> Callable[[bytes], Any] | None:
        kind, version = classes.get(f"{body.api}Response"), body.version
        if kind is None or not _reads(lambda: kind.decode(body.data, version=version) is not None):
            return None
        return lambda data: kind.decode(data, version=version)

    return of


def _reads(attempt: Callable[[], bool]) -> bool:
    try:
        return attempt()
    except Exception:  # noqa: BLE001 - whatever a peer raises, it does not read this body
        return False
