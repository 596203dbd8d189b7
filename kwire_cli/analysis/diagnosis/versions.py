"""Versions that brokers refuse or clients stay below, and requests with bytes that Kafka would not write."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import parts
from kwire_cli.analysis.calls import CapturedCall
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, client_of
from kwire_cli.analysis.diagnosis.tallies import Book
from kwire_cli.engine.codes import MEANING, REFUSED
from kwire_cli.errors import counted
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity
    from kwire_cli.analysis.diagnosis.tracks import Track

UNSUPPORTED = FindingKind(
    "UNSUPPORTED_VERSION",
    "error",
    "A client uses a version of an api that the broker does not support.",
    "The broker answers UNSUPPORTED_VERSION: the client did not ask which versions the broker supports, or asks for a "
    "feature that the broker does not have. In answer to ApiVersions the error is harmless: the client asks again "
    "with a lower version.",
    "Upgrade the older of the two. kwire clients shows which versions each client uses.",
    ("KIP-511", "KIP-35"),
    rank=18,
)
BELOW = FindingKind(
    "VERSION_BELOW_COMMON",
    "info",
    "A client uses a lower version of an api than both sides know.",
    "The broker offers higher versions, and the same software uses a higher one elsewhere in this capture. A setting "
    "may hold the client back (broker.version.fallback, inter.broker.protocol.version, api_version), or the request "
    "does not need the newer features.",
    "If newer features or smaller messages are wanted, look for such a setting.",
    ("KIP-35",),
    rank=94,
)
ODD = FindingKind(
    "ODD_CLIENT_BYTES",
    "info",
    "A client's requests have bytes that Kafka's own clients would not write.",
    "Brokers may still read these requests, but ignore bytes in them, or read them with tolerance. Known and "
    "harmless: librdkafka writes four zero bytes before the body of ApiVersions 0 (EXTRA_HEADER_BYTES).",
    "If a broker refuses such requests, upgrade the client. kwire decode shows the bytes.",
    rank=95,
)
REFUSED_BYTES = FindingKind(
    "UNREADABLE_REQUEST",
    "error",
    "A client sends requests that Kafka's reader refuses.",
    "The broker's reader fails at these bytes, for example at a tag that the version does not have. The broker closes "
    "the connection without an answer, and the client sees a disconnect.",
    "Upgrade or mend the client. kwire decode shows the bytes.",
    ("KIP-482",),
    rank=19,
)
WELL_BELOW = 3
"""Versions below what the software speaks elsewhere: apis often have two that clients choose from by feature."""
USUAL = 0.5
"""The share of the software's requests for an api with the higher version."""
LEAST_REQUESTS = 5
MOST_USES = 1 << 14
MOST_OFFERED = 1 << 16
MOST_REASONS = 3
MOST_LOOKED_AT = 100
"""Requests of each software, api and version that are looked at byte by byte: others would say the same."""
CUT_BY_CAPTURE = frozenset({"TRUNCATED", "LOST", "NOT_RECOGNISED", "FRAME_SIZE_MISMATCH", "UNKNOWN_API"})
"""Anomalies that are the capture's, or leave open what the bytes are."""


@dataclass
class _Refusals:
    reasons: set[str] = field(default_factory=set)
    evidence: Places = field(default_factory=Places)


@dataclass
class _Odd:
    versions: set[int] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)
    is_refused: bool = False
    """Whether a request with bytes at which Kafka's reader fails had no answer."""
    evidence: Places = field(default_factory=Places)


@dataclass
class _Use:
    count: int = 0
    who: str = ""
    evidence: Places = field(default_factory=Places)


class Versions(Rule):
    """Versions by client, broker and api, and anomalies in requests by software."""

    KINDS = (UNSUPPORTED, REFUSED_BYTES, BELOW, ODD)
    unusual_only = True

    def __init__(self) -> None:
        self._refused: Book[tuple[str, str, str, int], _Refusals] = Book(_Refusals)
        self._offered: dict[tuple[str, int], tuple[int, int]] = {}
        self._uses: Book[tuple[str, str, int, str, int], _Use] = Book(_Use)
        self._looked_at: Counter[tuple[str, str, int]] = Counter()
        self._odd: Book[tuple[str, str], _Odd] = Book(_Odd)
        self._known: dict[tuple[Hashable, str, int], _Use] = {}
        """The uses of connections, whose usual calls are counted when they end."""

    def call(self, call: Call) -> None:
        """Take a call."""
        if "UNSUPPORTED_VERSION" in call.errors:
            # Every client negotiates in this way: of ApiVersions the brokers count.
            who = f"broker {call.broker}" if call.api_key == API_VERSIONS else f"client {client_of(call)}"
            refusals = self._refused[who, call.broker, call.api, call.version]
            reason = (call.response or {}).get("errorMessage")
            if isinstance(reason, str) and reason and len(refusals.reasons) < MOST_REASONS:
                refusals.reasons.add(reason)
            refusals.evidence.add(call.evidence())
        elif call.api_key == API_VERSIONS and call.has_response:
            self._learn(call)
        software = call.software
        if software is not None:
            use = software, call.broker, call.api_key, call.api, call.version
            used = self._uses[use]
            used.count += 1
            used.who = max(used.who, client_of(call))
            if not used.evidence.full:
                used.evidence.add(call.evidence(of_request=True))
            if len(self._known) < MOST_OFFERED:
                self._known[call.connection, call.api, call.version] = used
        if isinstance(call, CapturedCall):
            self._look(call, software or client_of(call))

    def track(self, track: Track) -> None:
        """Take how many calls of each version there were besides."""
        for (api, version), count in track.usual.items():
            used = self._known.pop((track.connection, api, version), None)
            if used is not None:
                used.count += count

    def _learn(self, call: Call) -> None:
        if len(self._offered) > MOST_OFFERED:
            return
        for (row,) in parts(call.response, "apiKeys"):
            key, low, high = row.get("apiKey"), row.get("minVersion"), row.get("maxVersion")
            if isinstance(key, int) and isinstance(low, int) and isinstance(high, int):
                self._offered[call.broker, key] = low, high

    def _look(self, call: CapturedCall, software: str) -> None:
        """Look for anomalies in a request."""
        place = software, call.api, call.version
        if self._looked_at[place] >= MOST_LOOKED_AT or len(self._looked_at) > MOST_USES:
            return
        self._looked_at[place] += 1
        line = call.line
        if line.guess or line.seen.missing:
            return
        codes = set(line.anomalies) - {"FITS_OTHERWISE"}  # it accompanies the others, and its detail differs by frame
        if codes and not codes & CUT_BY_CAPTURE:
            odd = self._odd[software, call.api]
            odd.versions.add(call.version)
            odd.codes |= codes
            odd.is_refused |= not call.has_response and bool(codes & REFUSED)
            odd.evidence.add(call.evidence(of_request=True))

    def merge(self, other: Versions) -> None:
        self._known.clear()
        for key, its in other._refused.items():
            own = self._refused[key]
            own.reasons |= its.reasons
            own.evidence.merge(its.evidence)
        for offer, versions in other._offered.items():
            self._offered[offer] = max(self._offered.get(offer, versions), versions)
        for use, theirs in other._uses.items():
            used = self._uses[use]
            used.count += theirs.count
            used.who = max(used.who, theirs.who)
            used.evidence.merge(theirs.evidence)
        self._looked_at.update(other._looked_at)
        for place, others in other._odd.items():
            odd = self._odd[place]
            odd.versions |= others.versions
            odd.codes |= others.codes
            odd.is_refused |= others.is_refused
            odd.evidence.merge(others.evidence)

    def findings(self) -> Iterator[Finding]:
        yield from self._unsupported()
        yield from self._below()
        for (software, api), odd in self._odd.items():
            count = odd.evidence.count
            versions = ", ".join(map(str, sorted(odd.versions)))
            codes = "; ".join(f"{code}: {MEANING.get(code, code)}" for code in sorted(odd.codes))
            # Without a number: not each request is looked at, and how many depends on how connections are cut.
            text = f"requests {api} {versions} with {codes}"
            kind = REFUSED_BYTES if odd.is_refused else ODD
            yield Finding(kind, f"software {software}", text, odd.evidence.earliest, count)

    def _unsupported(self) -> Iterator[Finding]:
        keys = {use[3]: use[2] for use in self._uses}
        for (who, broker, api, version), refusals in self._refused.items():
            offer = self._offered.get((broker, keys.get(api, -1)))
            offers = f"; the broker offers {offer[0]} to {offer[1]}" if offer else ""
            count = refusals.evidence.count
            text = f"{broker} refused {counted(count, 'request')} {api} {version}{offers}"
            text += f": {'; '.join(sorted(refusals.reasons))}" if refusals.reasons else ""
            level: Severity | None = "info" if api == "ApiVersions" else None
            yield Finding(UNSUPPORTED, who, text, refusals.evidence.earliest, count, level)

    def _below(self) -> Iterator[Finding]:
        together: dict[tuple[str, int], dict[int, int]] = {}
        for (software, _, key, _, version), use in self._uses.items():
            versions = together.setdefault((software, key), {})
            versions[version] = versions.get(version, 0) + use.count
        for (software, broker, key, api, version), use in self._uses.items():
            versions = together[software, key]
            usual = max(versions, key=lambda number: (versions[number], number))
            highest = self._offered.get((broker, key), (0, -1))[1]
            is_usual = versions[usual] >= USUAL * sum(versions.values())
            if key == API_VERSIONS or not is_usual or use.count < LEAST_REQUESTS:
                continue
            if version <= min(usual, highest) - WELL_BELOW:
                text = (
                    f"{counted(use.count, 'request')} {api} {version} to {broker}, which offers {highest}; "
                    f"{software} speaks {usual} elsewhere"
                )
                yield Finding(BELOW, f"client {use.who}", text, use.evidence.earliest, use.count)
