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
    from kwire_cli.analysis.costs.library import compare, overhead
    from kwire_cli.analysis.library import ask, clients, diagnose, groups, sequence, stats, summary, transactions
    from kwire_cli.analysis.opening import open  # noqa: A004 - the library's word for it
    from kwire_cli.analysis.tables import tables
    from kwire_cli.analysis.verify import verify
    from kwire_cli.facts.costs.ledger import ledger
    from kwire_cli.message.library import decode, encode
    from kwire_cli.source.library import read_frames, read_records, write_records
    from kwire_cli.source.schema_inputs import serdes
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
    "clients",
    "compare",
    "decode",
    "diagnose",
    "encode",
    "groups",
    "ledger",
    "open",
    "overhead",
    "read_frames",
    "read_records",
    "sequence",
    "serdes",
    "stats",
    "summary",
    "tables",
    "transactions",
    "verify",
    "write_records",
]

_MODULES = {
    "ask": "analysis.library",
    "catalog": "spec.catalog",
    "clients": "analysis.library",
    "compare": "analysis.costs.library",
    "decode": "message.library",
    "diagnose": "analysis.library",
    "encode": "message.library",
    "groups": "analysis.library",
    "ledger": "facts.costs.ledger",
    "open": "analysis.opening",
    "overhead": "analysis.costs.library",
    "read_frames": "source.library",
    "read_records": "source.library",
    "serdes": "source.schema_inputs",
    "sequence": "analysis.library",
    "stats": "analysis.library",
    "summary": "analysis.library",
    "tables": "analysis.tables",
    "transactions": "analysis.library",
    "verify": "analysis.verify",
    "write_records": "source.library",
}
"""The modules of the functions above, which are loaded when a function is first used."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return function


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
