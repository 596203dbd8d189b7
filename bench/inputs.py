"""What the kernel block reads: bodies that Kafka 4.4.0's own classes wrote (data/)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import kwire_cli as kwire

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

DATA = Path(__file__).parent / "data"
METADATA = tuple(f"metadata-{version}" for version in range(9, 13))
"""2 brokers with racks, 1 topic, 100 partitions with 3 replicas each."""
MIX = "mix"
"""777 responses: half of all apis and versions."""


@dataclass(frozen=True)
class Body:
    api: str
    spec: MessageSpec
    version: int
    data: bytes


@cache
def catalog() -> Catalog:
    return kwire.catalog()


def bodies(name: str) -> list[Body]:
    if name == MIX:
        return _mix((DATA / "responses-mix-4.4.0.bin").read_bytes())
    version = int(name.removeprefix("metadata-"))
    data = (DATA / f"metadata-response-v{version}.bin").read_bytes()
    return [Body("Metadata", catalog().message("MetadataResponse"), version, data)]


def _mix(data: bytes) -> list[Body]:
    found, at = [], 0
    while at < len(data):
        key, version, size = struct.unpack_from(">hhi", data, at)
        at += 8
        api = catalog().api(key)
        found.append(Body(api.name, catalog().message(api.response or ""), version, data[at : at + size]))
        at += size
    return found
