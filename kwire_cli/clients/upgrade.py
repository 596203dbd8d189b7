"""KIP-896's question, asked of real traffic: which versions that a client uses a release of Kafka refuses, and whether it would speak others.

A low version alone says little: the broker may have offered no more. What a client could speak shows in the ApiVersions exchange: it uses the highest
version that both sides know, so one that stays below what the broker offers knows no higher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.clients.fold import Client, Clients, Spoken, Use
    from kwire_cli.spec.accepted import Accepted
    from kwire_cli.spec.versions import Versions

REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED = "refused", "capped", "unclear", "deprecated", "accepted"
VERDICTS = (REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED)
"""The worst first. Capped: an old broker offered no more, and what else the client speaks was not seen. Unclear: nothing shows what it would do."""


class Verdict(NamedTuple):
    """What will become of a version that a client uses, and why, as a sentence without its end; no reason where it is accepted."""

    verdict: str
    reason: str | None = None

    @property
    def rank(self) -> int:
        """The worse, the lower."""
        return VERDICTS.index(self.verdict)


def judge(
    clients: Clients, client: Client, uses: dict[Spoken, Use], accepted: Accepted, now: Accepted | None = None
) -> dict[tuple[int, int], Verdict]:
    """The verdict on each version of each api that a client uses, by api key and version; what was said to any broker counts as evidence.

    `now` is what the brokers accept, where no ApiVersions response of theirs was seen.
    """
    verdicts: dict[tuple[int, int], Verdict] = {}
    known = _Known(uses, asks=any(spoken.api_key == API_VERSIONS for spoken in uses), whole=client in clients.whole)
    for spoken in uses:
        verdict = _verdict(spoken, _offer(clients, spoken, now), known, accepted)
        place = spoken.api_key, spoken.version
        if place not in verdicts or verdict.rank < verdicts[place].rank:
            verdicts[place] = verdict
    return verdicts


class _Offer(NamedTuple):
    """The highest versions of an api that a broker offered, and who says so; none where that is not known."""

    highest: set[int]
    said: str


def _offer(clients: Clients, spoken: Spoken, now: Accepted | None) -> _Offer:
    seen = clients.offered.get(((spoken.capture, spoken.broker), spoken.api_key))
    if not seen and now and spoken.api_key in now.versions:
        return _Offer({now.versions[spoken.api_key].high}, f"{now.release} offers")
    return _Offer(seen or set(), "the broker offered")


class _Known(NamedTuple):
    """What is known of a client: the versions it uses, whether it was seen to ask what a broker speaks, and whether it would have been seen."""

    uses: Iterable[Spoken]
    asks: bool
    whole: bool

    @property
    def never_asks(self) -> bool:
        return self.whole and not self.asks


def _verdict(spoken: Spoken, offer: _Offer, known: _Known, accepted: Accepted) -> Verdict:
    release, version = accepted.release, spoken.version
    versions = accepted.versions.get(spoken.api_key)
    if versions is None:
        return Verdict(REFUSED, f"{release} has no such api")
    if version in versions:
        old = accepted.deprecated.get(spoken.api_key)
        return Verdict(DEPRECATED, _refusal(spoken, release)) if old and version in old else Verdict(ACCEPTED)
    if spoken.api_key == API_VERSIONS and version > versions.high:
        return Verdict(ACCEPTED)  # a broker answers any version of this one, and says which it speaks (KIP-511)
    verdict, why = _too_new(known) if version > versions.high else _too_old(spoken, offer, known, versions)
    return Verdict(verdict, f"{release} accepts {versions}; {why}")


def _too_old(spoken: Spoken, offer: _Offer, known: _Known, versions: Versions) -> tuple[str, str]:
    if known.never_asks:
        return REFUSED, "it never asks which versions a broker speaks"
    if spoken.version in offer.highest and known.asks:
        return CAPPED, f"{offer.said} no more than {spoken.version}"
    others = [other.version for other in known.uses if other.api_key == spoken.api_key and other.version in versions]
    if others:
        return UNCLEAR, f"it speaks {max(others)} too"
    if not offer.highest:
        return UNCLEAR, "what the broker offered was not seen"
    if spoken.version in offer.highest:
        return UNCLEAR, f"{offer.said} no more than {spoken.version}, and whether the client asks for that was not seen"
    return REFUSED, f"{offer.said} {max(offer.highest)}, so the client knows no higher"


def _too_new(known: _Known) -> tuple[str, str]:
    if known.never_asks:
        return REFUSED, "it never asks which versions a broker speaks"
    return UNCLEAR, "it asks which versions a broker speaks, and may know a lower one" if known.asks else "whether it knows a lower one was not seen"


def _refusal(spoken: Spoken, release: str) -> str:
    """Since when a deprecated version is refused, as far as that is known."""
    releases = known_releases()
    for later in releases[releases.index(release) + 1 :]:
        versions = accepted_by(later).versions.get(spoken.api_key)
        if versions is None or spoken.version not in versions:
            return f"{later} refuses it"
    return f"{release} calls it deprecated, and no release so far refuses it"
