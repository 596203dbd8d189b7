"""Which version of a header goes with a version of a request or response (Kafka's ApiMessageType)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

from kwire_cli.spec.location import read_bundled
from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    HeaderVersions = tuple[tuple[Versions, int], ...]


class Headed(Protocol):
    """What is known of a message by which its header is found: a definition, or an entry of the catalogue."""

    @property
    def type(self) -> str:
        """Its type; only requests and responses have headers."""

    @property
    def api_key(self) -> int | None:
        """Its apiKey."""

    @property
    def flexible_versions(self) -> Versions:
        """Its flexible versions."""

    @property
    def header_versions(self) -> HeaderVersions:
        """Its headerVersions, which go before all else."""


def header_version_of(message: Headed, version: int) -> int | None:
    """By its headerVersions (KIP-1313), by Kafka's exceptions, else by whether the version is flexible; None for what has no header."""
    if message.type not in {"request", "response"}:
        return None
    exceptions = _exceptions().get((message.api_key, message.type), ())
    for versions, header in (*message.header_versions, *exceptions):
        if version in versions:
            return header
    return (version in message.flexible_versions) + (message.type == "request")


@cache
def _exceptions() -> dict[tuple[int | None, str], HeaderVersions]:
    rows = read_bundled("header-versions.json")["exceptions"]
    return {(row["apiKey"], row["type"]): ((Versions.parse(row["versions"]), row["headerVersion"]),) for row in rows}
