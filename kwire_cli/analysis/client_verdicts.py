"""Verdicts on the versions that clients use: which of them a release of Kafka refuses (KIP-896's question).

A low version alone says little: the broker may have offered no more. The ApiVersions exchange shows what a client could
speak: it uses the highest version that both sides know, so a client that stays below what the broker offers knows no
higher one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.spec.accepted import Accepted
    from kwire_cli.spec.model import Versions

    Offered = Mapping[tuple[tuple[str | None, str], int], set[int]]
    """The highest versions that brokers said they speak, by broker (with its capture point) and api."""


class Spoken(NamedTuple):
    """A version of an api, spoken to the broker at an address."""

    broker: str
    api_key: int
    version: int
    capture: str | None = None


REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED = "refused", "capped", "unclear", "deprecated", "accepted"


VERDICTS = (REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED)
"""The worst first. Capped: an old broker offered no more, and what else the client speaks was not seen. Unclear:
nothing shows what it would do."""


class Verdict(NamedTuple):
    """Verdict on a version that a client uses, and the reason as a sentence without its end.

    The reason is None if the version is accepted.
    """

    verdict: str
    reason: str | None = None

    @property
    def rank(self) -> int:
        """The worse, the lower."""
        return VERDICTS.index(self.verdict)


def judge(
    uses: Iterable[Spoken], offered: Offered, accepted: Accepted, now: Accepted | None = None, *, whole: bool
) -> dict[tuple[int, int], Verdict]:
    """Return the verdict on each version of each api that a client uses, by api key and version.

    What was said to any broker counts as evidence. `whole` says that a connection of the client was seen from its
    first byte on. `now` is what the brokers accept if no ApiVersions response of theirs was seen.
    """
    verdicts: dict[tuple[int, int], Verdict] = {}
    facts = _Known(uses, asks=any(spoken.api_key == API_VERSIONS for spoken in uses), whole=whole)
    for spoken in uses:
        verdict = _verdict(spoken, _offer(offered, spoken, now), facts, accepted)
        place = spoken.api_key, spoken.version
        if place not in verdicts or verdict.rank < verdicts[place].rank:
            verdicts[place] = verdict
    return verdicts


class _Offer(NamedTuple):
    """The highest versions of an api that a broker offered, and who says so; none where that is not known."""

    highest: set[int]
    said: str


def _offer(offered: Offered, spoken: Spoken, now: Accepted | None) -> _Offer:
    highest = offered.get(((spoken.capture, spoken.broker), spoken.api_key))
    if not highest and now and spoken.api_key in now.versions:
        return _Offer({now.versions[spoken.api_key].high}, f"{now.release} offers")
    return _Offer(highest or set(), "the broker offered")


class _Known(NamedTuple):
    """Known facts about a client: its versions, and whether it was seen to ask for a broker's versions.

    `whole` says whether such a request would have been seen.
    """

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
    accepted = [other.version for other in known.uses if other.api_key == spoken.api_key and other.version in versions]
    if accepted:
        return UNCLEAR, f"it speaks {max(accepted)} too"
    if not offer.highest:
        return UNCLEAR, "what the broker offered was not seen"
    if spoken.version in offer.highest:
        return UNCLEAR, f"{offer.said} no more than {spoken.version}, and whether the client asks for that was not seen"
    return REFUSED, f"{offer.said} {max(offer.highest)}, so the client knows no higher"


def _too_new(known: _Known) -> tuple[str, str]:
    if known.never_asks:
        return REFUSED, "it never asks which versions a broker speaks"
    return (
        UNCLEAR,
        "it asks which versions a broker speaks, and may know a lower one"
        if known.asks
        else "whether it knows a lower one was not seen",
    )


def _refusal(spoken: Spoken, release: str) -> str:
    """Since when a deprecated version is refused, as far as that is known."""
    releases = known_releases()
    for later in releases[releases.index(release) + 1 :]:
        versions = accepted_by(later).versions.get(spoken.api_key)
        if versions is None or spoken.version not in versions:
            return f"{later} refuses it"
    return f"{release} calls it deprecated, and no release so far refuses it"
