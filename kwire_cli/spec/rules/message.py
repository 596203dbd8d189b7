"""Rules of a message's own keys (Kafka's MessageSpec, HeaderVersions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.findings import Spot
from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.spec.reading import TYPES
from kwire_cli.spec.scalars import stated
from kwire_cli.spec.versions import MAX, NONE, Versions

if TYPE_CHECKING:
    from kwire_cli.spec.reading import Definition

LISTENERS = frozenset({"zkBroker", "broker", "controller"})
_KEYED = frozenset({"request", "response", "metadata", "coordinator-key", "coordinator-value"})
_HEADERS = {"request": 3, "response": 1}
"""The newest header version: 3 is KIP-1313's."""
_FLEXIBLE_HEADERS = {"request": 2, "response": 1}
_TOP = Spot()


def message_rules(definition: Definition) -> None:
    """Report what is wrong with the message's own keys."""
    _name_and_type(definition)
    _versions(definition)
    _request_keys(definition)
    if stated(definition.keys, "headerVersions"):
        _header_versions(definition)


def _name_and_type(definition: Definition) -> None:
    spec, report = definition.spec, definition.report
    if not spec.name:
        report.add("NAME_MISSING", "the message has no name", _TOP)
    elif spec.type in {"request", "response"} and not spec.name.endswith(spec.type.capitalize()):
        report.add("NAME_REQUEST_SUFFIX", f"the name of a {spec.type} ends in {spec.type.capitalize()}", _TOP.key("name"))
    if not spec.type:
        report.add("TYPE_MISSING", "the message has no type", _TOP)
    elif spec.type not in TYPES:
        report.add("TYPE_UNKNOWN", f"{spec.type!a} is none of {', '.join(TYPES)}", _TOP.key("type"))
    if spec.api_key is None and spec.type in _KEYED:
        report.add("API_KEY_MISSING", f"a {spec.type} message has an apiKey", _TOP)
    elif spec.api_key is not None and not -MAX - 1 <= spec.api_key <= MAX:
        report.add("API_KEY_RANGE", f"{spec.api_key} is not an int16", _TOP.key("apiKey"))


def _versions(definition: Definition) -> None:
    spec, report = definition.spec, definition.report
    if not stated(definition.keys, "validVersions"):
        report.add("VALID_VERSIONS_MISSING", "the message has no validVersions", _TOP)
    elif spec.valid_versions and spec.valid_versions.high == MAX:
        report.add("VALID_VERSIONS_OPEN", "validVersions has no upper end", _TOP.key("validVersions"))
    if not stated(definition.keys, "flexibleVersions"):
        if spec.valid_versions:
            report.add("FLEXIBLE_VERSIONS_MISSING", "the message has no flexibleVersions", _TOP)
    elif spec.flexible_versions and spec.flexible_versions.high != MAX:
        report.add("FLEXIBLE_VERSIONS_CLOSED", "flexibleVersions is neither none nor open-ended", _TOP.key("flexibleVersions"))
    for key, versions in (("validVersions", spec.valid_versions), ("flexibleVersions", spec.flexible_versions)):
        if not versions and versions != NONE:
            report.add("VERSIONS_REVERSED", "this range runs backwards and is taken as none", _TOP.key(key))
    if spec.type == "coordinator-key":
        if spec.valid_versions != Versions(0, 0):
            report.add("COORDINATOR_KEY_VERSIONS", "a coordinator-key has the version 0 and no other", _TOP.key("validVersions"))
        if spec.flexible_versions:
            report.add("COORDINATOR_KEY_FLEXIBLE", "a coordinator-key has no flexible versions", _TOP.key("flexibleVersions"))


def _request_keys(definition: Definition) -> None:
    spec, report = definition.spec, definition.report
    for name in spec.listeners:
        if name not in LISTENERS:
            report.add("LISTENER_UNKNOWN", f"{name!a} is none of {', '.join(sorted(LISTENERS))}", _TOP.key("listeners"))
    if spec.type == "request":
        return
    if spec.listeners:
        report.add("LISTENERS_ON_NON_REQUEST", "only requests have listeners", _TOP.key("listeners"))
    if spec.latest_version_unstable:
        report.add("UNSTABLE_ON_NON_REQUEST", "only requests have an unstable latest version", _TOP.key("latestVersionUnstable"))


def _header_versions(definition: Definition) -> None:
    spec, report, at = definition.spec, definition.report, _TOP.key("headerVersions")
    if spec.type not in _HEADERS or not spec.valid_versions:
        report.add("HEADER_VERSIONS_TYPE", "only requests and responses with valid versions have headerVersions", at)
        return
    expected, before = 0, 0
    for versions, header in spec.header_versions:
        if versions.low != expected:
            report.add("HEADER_VERSIONS_RANGE", f"{versions} does not start at {expected}", at)
        expected = versions.high + 1
        if not 0 <= header <= _HEADERS[spec.type]:
            report.add("HEADER_VERSIONS_VALUE", f"there is no {spec.type} header of version {header}", at)
        if versions.low > spec.valid_versions.high:
            report.add("HEADER_VERSIONS_BEYOND_VALID", f"{versions} starts above the highest valid version", at)
        if header < before:
            report.add("HEADER_VERSIONS_DECREASING", f"{header} comes after {before}", at)
        before = header
        _header_kind(definition, versions, header)
    if expected != MAX + 1:
        report.add("HEADER_VERSIONS_RANGE", "the last range must be open-ended", at)


def _header_kind(definition: Definition, versions: Versions, header: int) -> None:
    spec, report, at = definition.spec, definition.report, _TOP.key("headerVersions")
    if (spec.type, spec.api_key) == ("response", API_VERSIONS):
        # KIP-511: a client must be able to read this response whatever version the broker answers with.
        if header:
            report.add("HEADER_VERSIONS_API_VERSIONS", "the response of api key 18 always has header version 0", at)
    elif header < _FLEXIBLE_HEADERS[spec.type] and versions & spec.flexible_versions & spec.valid_versions:
        report.add("HEADER_VERSIONS_NOT_FLEXIBLE", f"header version {header} is not flexible, but versions in {versions} are", at)
