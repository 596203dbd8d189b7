"""What flexible versions cost beside the body: the tag section of their headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.message.encode import encode_spec
from kwire_cli.message.headers import header_spec, header_version

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

PLAIN = {"request": 1, "response": 0}
FLEXIBLE = {"request": 2, "response": 1}
"""The versions of headers; which one a response to ApiVersions has, the catalogue knows."""
_VALUE = {"requestApiKey": 0, "requestApiVersion": 0, "correlationId": 0, "clientId": None}


def header_difference(catalog: Catalog, spec: MessageSpec) -> int:
    """The bytes that the header of a flexible version of a message has more than that of an inflexible one; 0 of what has no header."""
    if spec.type not in PLAIN or spec.api_key is None:
        return 0
    flexible = spec.flexible_versions & spec.valid_versions
    version = header_version(catalog, spec.type, spec.api_key, flexible.low) if flexible else FLEXIBLE[spec.type]
    return _size(catalog, spec.type, version) - _size(catalog, spec.type, PLAIN[spec.type])


def _size(catalog: Catalog, kind: str, version: int) -> int:
    header = header_spec(catalog, kind)
    names = {field.json_name for field in header.fields if version in field.versions}
    return len(encode_spec(header, {name: value for name, value in _VALUE.items() if name in names}, version))
