"""Profiles of the clients of one side of a comparison: apis, versions, fields, configuration, rhythm and groups.

The queries in `questions/profiles` find them in tables. Clients are put together by the name of their software, by
their client id, or all of a side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.questions.traffic import Traffic, queries_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.message.redaction import Redaction

    Row = Mapping[str, Any]
    """A row of a query."""

By = Literal["software", "client", "all"]
MOST_VALUES = 8
"""Values of a setting or a field that are told apart. A setting has one or two, and a field such as an offset any."""


@dataclass
class Values:
    """Values of a setting or a field with the number of requests that have each, the most frequent first."""

    counts: dict[str, int] = field(default_factory=dict)
    config: str | None = None
    is_of_batches: bool = False

    @property
    def is_many(self) -> bool:
        """Return whether there are too many values to tell them apart."""
        return len(self.counts) > MOST_VALUES

    @property
    def texts(self) -> list[str]:
        """The values; `(many)` if there are too many."""
        return ["(many)"] if self.is_many else [*self.counts]


@dataclass
class Profile:
    """The traffic of clients that are compared as one: rows of queries by their keys."""

    client: Row
    apis: dict[int, Row] = field(default_factory=dict)
    errors: dict[tuple[int, str], int] = field(default_factory=dict)
    settings: dict[str, Values] = field(default_factory=dict)
    fields: dict[int, dict[str, Values]] = field(default_factory=dict)
    rhythms: dict[int, Row] = field(default_factory=dict)
    counts: Row = field(default_factory=dict)


class Profiles:
    """The profiles of all clients of one side, whose traffic is in tables until `close`."""

    def __init__(self, redaction: Redaction) -> None:
        self._traffic = Traffic(redaction, queries_in("profiles"))

    def add(self, subject: object) -> None:
        """Take a line of a capture or an exchange of a request log."""
        self._traffic.add(subject)

    def finish(self) -> None:
        """End the adding of subjects, before profiles are asked for."""
        self._traffic.finish()

    def close(self) -> None:
        """Forget the tables."""
        self._traffic.close()

    @property
    def broker_requests(self) -> int:
        """The number of requests that brokers and controllers sent."""
        return sum(row["requests"] for row in self._traffic.rows("brokers"))

    def clients(self, by: By) -> dict[str, Row]:
        """Return the groups of clients by name."""
        return {row["name"]: row for row in self._traffic.rows("clients", by=by)}

    def profiles(self, by: By) -> dict[str, Profile]:
        """Return the profile of each group of clients by name."""
        found = {name: Profile(row) for name, row in self.clients(by).items()}
        rows = self._traffic.rows
        for row in rows("apis", by=by):
            found[row["name"]].apis[row["api_key"]] = row
        for row in rows("errors", by=by):
            found[row["name"]].errors[row["api_key"], row["error"]] = row["responses"]
        for row in rows("settings", by=by):
            empty = Values(config=row["config"], is_of_batches=row["is_of_batches"])
            values = found[row["name"]].settings.setdefault(row["setting"], empty)
            values.counts[row["value"]] = row["requests"]
        for row in rows("fields", by=by):
            fields = found[row["name"]].fields.setdefault(row["api_key"], {})
            fields.setdefault(row["path"], Values()).counts[row["value"]] = row["requests"]
        for row in rows("rhythm", by=by):
            found[row["name"]].rhythms[row["number"]] = row
        for row in rows("counts", by=by):
            found[row["name"]].counts = row
        return found
