"""The clients as rows: each with the versions that it uses, and for a release of Kafka the verdicts on these."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.clients.fold import BATCHES_SINCE, Use
from kwire_cli.clients.upgrade import ACCEPTED, Verdict, judge
from kwire_cli.spec.kafka import PRODUCE

if TYPE_CHECKING:
    from kwire_cli.clients.fold import Client, Clients
    from kwire_cli.spec.accepted import Accepted
    from kwire_cli.spec.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an api that a client uses, over all brokers. `verdict` is None where none was asked for."""

    api_key: int
    api: str | None
    version: int
    use: Use
    brokers: tuple[str, ...]
    verdict: Verdict | None

    @property
    def name(self) -> str:
        """`Produce 9`; the key of an api without a name."""
        return f"{self.api or f'api {self.api_key}'} {self.version}"

    def to_json(self) -> dict[str, Any]:
        """As in the row of its client."""
        out: dict[str, Any] = (
            {"apiKey": self.api_key, "api": self.api, "apiVersion": self.version} | _use_json(self.use) | {"brokers": [*self.brokers]}
        )
        if self.use.formats:
            out["messageFormats"] = {str(magic): count for magic, count in sorted(self.use.formats.items())}
        return out | ({"verdict": self.verdict.verdict, "reason": self.verdict.reason} if self.verdict else {})


@dataclass(frozen=True, slots=True)
class Row:
    """A client and what it uses. `total` is over all of it; `verdict` the worst of all verdicts, None where none was asked for."""

    client: Client
    versions: tuple[Version, ...]

    @property
    def total(self) -> Use:
        """Requests, times and errors of all versions together."""
        total = Use()
        for version in self.versions:
            total.merge(version.use)
        return total

    @property
    def verdict(self) -> str | None:
        """The worst one."""
        found = [version.verdict for version in self.versions if version.verdict]
        return min(found, key=lambda verdict: verdict.rank).verdict if found else None

    def to_json(self) -> dict[str, Any]:
        """As a JSON line."""
        client, total = self.client, self.total
        out: dict[str, Any] = {} if client.capture is None else {"capture": client.capture}
        out |= {"clientId": client.client_id, "software": client.software, "address": client.address} | _use_json(total)
        if total.principals:
            out["principals"] = sorted(total.principals)
        if self.verdict:
            out["verdict"] = self.verdict
        return out | {"apis": [version.to_json() for version in self.versions]}


def _use_json(use: Use) -> dict[str, Any]:
    return {"requests": use.requests, "first": use.first, "last": use.last, "errors": {str(name): count for name, count in errors_of(use)}}


def errors_of(use: Use) -> list[tuple[str | int, int]]:
    """The errors with how often each came, the most frequent first."""
    return sorted(use.errors.items(), key=lambda item: (-item[1], str(item[0])))


def report(catalog: Catalog, clients: Clients, accepted: Accepted | None = None, now: Accepted | None = None) -> list[Row]:
    """All clients, by id, software and address; with what a release accepts, those first whom it refuses. `now` as in `judge`."""
    rows = []
    for client, uses in clients.rows():
        verdicts = judge(clients, client, uses, accepted, now) if accepted else {}
        together: dict[tuple[int, int], tuple[Use, list[str]]] = {}
        for spoken, use in uses.items():
            of_all, brokers = together.setdefault((spoken.api_key, spoken.version), (Use(), []))
            of_all.merge(use)
            brokers.append(spoken.broker)
        versions = []
        for (key, number), (use, brokers) in together.items():
            api, verdict = catalog.api_by_key(key), verdicts.get((key, number))
            if verdict and verdict.reason and key == PRODUCE and number < BATCHES_SINCE:
                verdict = verdict._replace(reason=f"{verdict.reason}; it writes {_message_sets(use)}")
            versions.append(Version(key, api and api.name, number, use, tuple(sorted(brokers)), verdict))
        rows.append(Row(client, tuple(versions)))
    if accepted:
        rows.sort(key=lambda row: min((version.verdict.rank for version in row.versions if version.verdict), default=0))
    return rows


def _message_sets(use: Use) -> str:
    """Which formats were seen; a request log does not show them."""
    formats = " and ".join(f"{count} in v{magic}" for magic, count in sorted(use.formats.items()))
    return f"old messages ({formats})" if formats else "old messages (v0 or v1)"


def verdict_counts(rows: list[Row]) -> Counter[str]:
    """How many clients have each verdict as their worst."""
    return Counter(row.verdict or ACCEPTED for row in rows)
