"""kwire: an inspector of the Apache Kafka wire protocol.

The names below are its public API; each loads what it needs when first used, so that importing this package costs
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import DecodeError, EncodeError, InputError, KwireError, SpecError
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from kwire_cli.analysis.costs.ledger import ledger
    from kwire_cli.analysis.library import ask
    from kwire_cli.message.library import columns, decode, encode
    from kwire_cli.source.library import read_frames, read_records, write_records
    from kwire_cli.spec.catalog import catalog

__version__ = VERSION
__all__ = [
    "DecodeError",
    "EncodeError",
    "InputError",
    "KwireError",
    "SpecError",
    "ask",
    "catalog",
    "columns",
    "decode",
    "encode",
    "ledger",
    "read_frames",
    "read_records",
    "write_records",
]

_MODULES = {
    "ask": "analysis.library",
    "catalog": "spec.catalog",
    "columns": "message.library",
    "decode": "message.library",
    "encode": "message.library",
    "ledger": "analysis.costs.ledger",
    "read_frames": "source.library",
    "read_records": "source.library",
    "write_records": "source.library",
}
"""The modules of the functions above, which are loaded when a function is first used."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
