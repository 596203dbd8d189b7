"""The history of a message: the release that brought each version, its change of layout, and its meaning.

About half of all new versions have the layout of the version before: the number states that a broker or a client
behaves in another way. `specs/meanings.json` describes how, in kwire's words. Each row there has the KIP or the issue
(`why`), and the definition of Kafka with the comment on which the row rests (`comment`): the message's own
definition, the definition of the other half of its api, or another one. "none" means that Kafka's definitions have no
comment. Releases come from `specs/releases.json`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.evolution.changes import changes, version_part
from kwire_cli.spec.files import read_bundled

if TYPE_CHECKING:
    from kwire_cli.spec.evolution.changes import Change
    from kwire_cli.spec.model import MessageSpec

FILE = "meanings.json"


class Meaning(NamedTuple):
    """What a version means beyond its layout; `why` is a KIP or an issue, `comment` the definition with the comment."""

    text: str
    why: str | None
    comment: str

    @property
    def sentence(self) -> str:
        """The text with its reason."""
        return f"{self.text} ({self.why})" if self.why else self.text


class Releases(NamedTuple):
    """The first and the last release that accept a version; `first` is None if that is older than all known ones, and
    `last` if the newest one still does.
    """

    first: str | None
    last: str | None

    @property
    def text(self) -> str:
        """`Kafka 3.7`, `Kafka 3.1 to 3.9`, `Kafka 2.4 or older`."""
        first = self.first or f"{known_releases()[0]} or older"
        return f"Kafka {first}{f' to {self.last}' if self.last and self.last != self.first else ''}"


class Step(NamedTuple):
    """A version of a message: its releases, the changes of its layout from the version before, and its meaning.

    `before` is the version before, None for the first.
    """

    before: int | None
    version: int
    releases: Releases | None
    layout: tuple[Change, ...]
    meaning: Meaning | None


@cache
def meanings() -> dict[tuple[str, int], Meaning]:
    """Return the meanings of versions that have the layout of the version before, by message and version."""
    by_version: dict[tuple[str, int], Meaning] = {}
    for row in read_bundled(FILE):
        meaning = Meaning(row["text"], row["why"], row["comment"])
        for message, versions in row["steps"].items():
            by_version.update(((message, version), meaning) for version in versions)
    return by_version


def meanings_between(message: str, a: int, b: int) -> list[tuple[int, Meaning]]:
    """Return the meanings of the versions after the lower one of two, up to the higher one."""
    known = meanings()
    versions = range(min(a, b) + 1, max(a, b) + 1)
    return [(version, known[message, version]) for version in versions if (message, version) in known]


def releases_of(api_key: int, version: int) -> Releases | None:
    """Return the releases that accept a version of an api, or None if no known release does."""
    names = [name for name in known_releases() if version in accepted_by(name).versions.get(api_key, ())]
    if not names:
        return None
    oldest = known_releases()[0]
    newest = known_releases()[-1]
    return Releases(None if names[0] == oldest else names[0], None if names[-1] == newest else names[-1])


def layout_changes(spec: MessageSpec, old: int, new: int) -> tuple[Change, ...]:
    """Return the changes between two versions that their bytes show."""
    every = changes(version_part(spec, old), version_part(spec, new))
    return tuple(change for change in every if change.path or change.key == "flexible")


def history(spec: MessageSpec) -> list[Step]:
    """Return the versions of a message in order."""
    steps: list[Step] = []
    before: int | None = None
    in_releases = spec.type in {"request", "response"} and spec.api_key is not None
    for version in spec.valid_versions.each():
        layout = () if before is None else layout_changes(spec, before, version)
        releases = releases_of(spec.api_key, version) if in_releases and spec.api_key is not None else None
        steps.append(Step(before, version, releases, layout, meanings().get((spec.name, version))))
        before = version
    return steps
