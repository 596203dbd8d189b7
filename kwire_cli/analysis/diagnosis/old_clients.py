"""Clients that the newest release of Kafka refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.calls import CapturedCall, LoggedCall
from kwire_cli.analysis.client_verdicts import REFUSED
from kwire_cli.analysis.clients import Clients, report
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import host_of, in_time
from kwire_cli.errors import few
from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.analysis.clients import Row

OLD = FindingKind(
    "OLD_CLIENT",
    "warning",
    "A client uses versions that the newest release of Kafka refuses.",
    "Kafka 4.0 removed old versions of apis (KIP-896), and the client showed that it knows no higher ones. The "
    "present brokers may still answer; after an upgrade, brokers close the client's connections.",
    "Upgrade the client before the brokers. kwire clients --to RELEASE lists all clients and their versions.",
    ("KIP-896",),
    rank=70,
)
MOST_USES = 1 << 15
"""Different clients, brokers and versions that are kept."""
MOST_NAMES = 4
_Use = tuple[str | None, str | None, str, str, int, int, bool]


class OldClients(Rule):
    """Versions that clients speak, judged as `kwire clients --to RELEASE` does."""

    KINDS = (OLD,)
    apis: ClassVar[frozenset[str]] = frozenset({"ApiVersions"})
    unusual_only = True

    def __init__(self) -> None:
        self._clients = Clients(upgrade_to=known_releases()[-1])
        self._uses: dict[_Use, tuple[float, Evidence]] = {}
        """When a version was used first, and the place."""

    def call(self, call: Call) -> None:
        """Take a call: the first of each client, broker, api and version counts, and all of ApiVersions."""
        whole = isinstance(call, CapturedCall) and call.line.connection.from_start
        host, key = host_of(call.client), call.api_key
        use = call.client_id, call.software, host, call.broker, key, call.version, whole
        before = self._uses.get(use)
        asked = call.asked or 0.0
        if before is None and len(self._uses) < MOST_USES:
            self._uses[use] = asked, call.evidence(of_request=True)
        else:
            if before is not None and asked < before[0]:  # calls without an answer come late
                self._uses[use] = asked, call.evidence(of_request=True)
            if key != API_VERSIONS:
                return
        if isinstance(call, CapturedCall):
            self._clients.add(call.line)
            if call.answer is not None and key == API_VERSIONS:
                self._clients.add(call.answer)
        elif isinstance(call, LoggedCall):
            self._clients.add(call.exchange)

    def merge(self, other: OldClients) -> None:
        self._clients.merge(other._clients)
        for use, its in other._uses.items():
            self._uses[use] = min(self._uses.get(use, its), its, key=lambda first: (first[0], first[1].packet or 0))

    def findings(self) -> Iterator[Finding]:
        release = known_releases()[-1]
        accepted = accepted_by(release)
        for row in report(self._clients, accepted):
            refused = [
                version
                for version in row.versions
                if version.verdict
                and version.verdict.verdict == REFUSED
                # An api that the release does not have belongs to brokers of ZooKeeper's days, or to nobody.
                and (its := accepted.versions.get(version.api_key))
                and version.version < its.low
            ]
            if not refused:
                continue
            named = [f"{version.name} (it accepts {accepted.versions[version.api_key]})" for version in refused]
            software = f" ({row.client.software})" if row.client.software else ""
            text = f"Kafka {release} refuses {few(named, MOST_NAMES)}"
            places = self._places(row, {(version.api_key, version.version) for version in refused})
            who = row.client.client_id or row.client.address or "without a name"
            command = f"clients --to {release}"
            yield Finding(OLD, f"client {who}{software}", text, places, len(refused), command=command)

    def _places(self, row: Row, refused: set[tuple[int, int]]) -> list[Evidence]:
        client, host = row.client.client_id, row.client.address
        return in_time(
            place
            for (its_id, _, its_host, _, key, version, _), (_, place) in self._uses.items()
            if its_id == client and its_host.strip("[]") == host and (key, version) in refused
        )
