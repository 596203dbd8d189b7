"""Profiles of the clients of one side of a comparison: apis, versions, fields and configuration.

The queries in `questions/profiles` compute the profiles from tables of traffic. Clients are grouped by the name of
their software or by their client id, or all clients of a side are one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kwire_cli.questions.traffic import Traffic, queries_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.message.redaction import Redaction

    Row: TypeAlias = Mapping[str, Any]
    """A row of a query."""
    Profile: TypeAlias = Mapping[str, dict[tuple[Any, ...], Row]]
    """The rows of some clients by query and key."""

By = Literal["software", "client", "all"]
MOST_VALUES = 8
"""Maximum number of different values of a setting or field that are compared.

A setting has one or two values, while a field such as an offset has a new value in each request.
"""
KEYS: dict[str, tuple[str, ...]] = {
    "clients": (),
    "apis": ("api_key",),
    "errors": ("api_key", "error"),
    "settings": ("setting",),
    "fields": ("api_key", "path"),
}
"""The columns by which rows of both sides belong together, by query."""


class Profiles(Traffic):
    """The profiles of all clients of one side, whose traffic is in tables until `close`."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, queries_in("profiles"))

    @property
    def broker_requests(self) -> int:
        """The number of requests that brokers and controllers sent."""
        return sum(row["requests"] for row in self.rows("brokers"))

    def clients(self, by: By) -> dict[str, Row]:
        """Return the groups of clients by name."""
        return {row["name"]: row for row in self.rows("clients", by=by)}

    def profiles(self, by: By) -> dict[str, Profile]:
        """Return the profile of each group of clients by name."""
        profiles: dict[str, Profile] = {}
        for name in self.clients(by):
            profiles[name] = {query: {} for query in KEYS}
        for query, keys in KEYS.items():
            for row in self.rows(query, by=by, most_values=MOST_VALUES):
                profiles[row["name"]][query][tuple(row[key] for key in keys)] = row
        return profiles
