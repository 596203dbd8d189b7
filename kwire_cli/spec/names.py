"""What names of messages say: earlier names, successors, and Kafka's module of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

RENAMED_APIS = {"ListOffsets": ["ListOffset"], "ElectLeaders": ["ElectPreferredLeaders"], "AlterPartition": ["AlterIsr"]}
"""Names that earlier releases gave to an api: 2 and 43 (Kafka 2.8 and 2.4), 56 (3.2)."""
REPLACED_APIS = {"ListClientMetricsResources": "ListConfigResources"}
"""An api whose key another one took over with the same layout: it stays a message of its own, and is found by its successor's key."""
RENAMED_MESSAGES = {"ZkMigrationStateRecord": ["ZkMigrationRecord"]}
"""Messages known by the name of the file that Kafka keeps them in."""


def successor_of(name: str) -> str | None:
    """The message that took over this one's api key, if one did."""
    return next((new + name.removeprefix(old) for old, new in REPLACED_APIS.items() if name.startswith(old)), None)


def aliases_of(name: str) -> list[str]:
    """The names that a message had in earlier releases of Kafka."""
    for suffix in ("Request", "Response"):
        stem = name.removesuffix(suffix)
        if stem != name and stem in RENAMED_APIS:
            return [alias + suffix for alias in RENAMED_APIS[stem]]
    return RENAMED_MESSAGES.get(name, [])


def module_of(definition: Mapping[str, Any]) -> str | None:
    """Kafka's module of a record (ids of records are unique within one only); None for what is no numbered record."""
    name, kind = definition["name"], definition["type"]
    if kind == "metadata":
        return "storage" if name.startswith("Remote") else "metadata"
    if kind not in {"coordinator-key", "coordinator-value"}:
        return None
    if name.startswith("TransactionLog"):
        return "transaction-coordinator"
    return "share-coordinator" if name.startswith(("ShareSnapshot", "ShareUpdate")) else "group-coordinator"
