"""The compatibility of two sets of definitions: every rule that going from the old to the new one breaks, with who fails and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.evolution.compatible import Problem, problems
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.evolution.matching import matched
from kwire_cli.spec.evolution.remarks import remarks
from kwire_cli.spec.evolution.rules import RULES, SEVERITIES
from kwire_cli.spec.evolution.stretches import Stretches, joined
from kwire_cli.spec.header_versions import header_version_of
from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.evolution.given import Given
    from kwire_cli.spec.evolution.matching import Common, Match
    from kwire_cli.spec.evolution.rules import Severity
    from kwire_cli.spec.evolution.sources import Definitions
    from kwire_cli.spec.model import MessageSpec


@dataclass(frozen=True)
class Break:
    """A rule that a change breaks. `path` is a field's in JSON names, empty for the message; `versions` are ranges that it is so in, none for all.

    `old_reads_new` says what an old reader does with what a new writer writes and `new_reads_old` the converse; None where it does well.
    `file`, `line` and `column` are those of the new definition, or of the old one where the new has nothing to point at.
    """

    rule: str
    severity: Severity
    message: str
    path: str
    versions: tuple[Versions, ...]
    what: str
    old_reads_new: str | None = None
    new_reads_old: str | None = None
    file: str | None = None
    line: int = 1
    column: int = 1


class _Found(NamedTuple):
    """A problem as it is in one version or more: how bad it is there, and the definition that has it."""

    problem: Problem
    severity: Severity
    new: Given | None


_WITHOUT_HEADERS = frozenset({"data", "coordinator-key", "coordinator-value"})


def breaking(old: Definitions, new: Definitions, *, part: bool = False) -> list[Break]:
    """Everything that two sets of definitions break, message by message in the order of the old ones, the worst first in each.

    With `part` the new definitions are some of all there are: none is missed, and if there is one on either side they are held against each other.
    """
    return [
        each for match in matched(old, new, part=part) for each in sorted(_of_message(match), key=lambda each: [*SEVERITIES].index(each.severity))
    ]


def _of_message(match: Match) -> Iterator[Break]:
    found: dict[_Found, list[Versions]] = {}
    for problem in _of_definition(match):
        # Of a message that was never released there are no programs either.
        severity: Severity = "advice" if match.unreleased.covers(match.old.spec.valid_versions) else RULES[problem.rule].severity
        found[_Found(problem, severity, match.new)] = []
    for versions, new, problem in _of_versions(match):
        unreleased = versions & match.unreleased
        released = (Versions(versions.low, versions.high - 1) if unreleased else versions, RULES[problem.rule].severity)
        for some, how_bad in (released, (unreleased, "advice")):
            if some:
                found.setdefault(_Found(problem, how_bad, new), []).append(some)
    reused = {each.problem.path for each in found if each.problem.rule == "TAG_REUSED"}
    for each, ranges in found.items():
        if each.problem.rule != "TAG_NUMBER_TAKEN" or each.problem.path not in reused:
            yield _break(match.old, each, joined(ranges), unreleased=bool(ranges) and all(map(match.unreleased.covers, ranges)))


def _of_definition(match: Match) -> Iterator[Problem]:
    """What is so whatever the version."""
    if not match.new or not match.new.spec.valid_versions:
        return
    old, new = match.old.spec, match.new.spec
    if old.name != new.name:
        yield Problem("MESSAGE_RENAMED", "", f"it is {new.name} now", old_fails=False, new_fails=False)
    if old.type != new.type:
        kin = {old.type, new.type} <= _WITHOUT_HEADERS
        yield Problem("MESSAGE_KIND_CHANGED" if kin else "MESSAGE_TYPE_CHANGED", "", f"{old.type} became {new.type}", not kin, not kin)
    if old.api_key != new.api_key and not (old.api_key is None and old.type in _WITHOUT_HEADERS):
        yield Problem("API_KEY_CHANGED", "", f"{old.api_key} became {new.api_key}")
    yield from remarks(old, new)


def _of_versions(match: Match) -> Iterator[tuple[Versions, Given | None, Problem]]:
    """What is so at versions, with the definition that has them now."""
    old, new = match.old.spec, match.new
    if new and new.spec.valid_versions:
        deprecated = spans(part for versions in match.lost if (part := versions & old.deprecated_versions))
        before = f"; {deprecated} had been deprecated" if deprecated else ""
        lost = Problem("VERSIONS_REMOVED", "", f"{old.valid_versions} became {new.spec.valid_versions}{before}")
    else:
        gone = "no version of it is valid any more" if new else "there is no definition of it any more"
        lost = Problem("MESSAGE_REMOVED", "", gone, old_fails=False)
    for versions in match.lost:
        yield versions, new, lost
    if match.withdrawn:
        yield match.withdrawn, new, Problem("VERSION_WITHDRAWN", "", "latestVersionUnstable was set on a released version")
    stretches = {given: Stretches(given.spec) for given in dict.fromkeys((match.old, *(common.new for common in match.common)))}

    def alike(common: Common) -> tuple[object, ...]:
        version, given, new_version = common
        headers = header_version_of(old, version), header_version_of(given.spec, new_version)
        return (*headers, stretches[match.old].of(version), given, stretches[given].of(new_version))

    for _, group in groupby(match.common, alike):
        first, *rest = group
        versions = Versions(first.version, rest[-1].version if rest else first.version)
        for problem in (*_headers(old, *first), *_layouts(old, *first)):
            yield versions, first.new, problem


def _headers(old: MessageSpec, version: int, given: Given, new_version: int) -> Iterator[Problem]:
    new = given.spec
    before, after = header_version_of(old, version), header_version_of(new, new_version)
    same = (old.type, old.api_key, version in old.flexible_versions) == (new.type, new.api_key, new_version in new.flexible_versions)
    if same and before != after:
        yield Problem("HEADER_VERSION_CHANGED", "", f"{before} became {after}")


def _layouts(old: MessageSpec, version: int, given: Given, new_version: int) -> Iterator[Problem]:
    new = given.spec
    flexible = [number in spec.flexible_versions for spec, number in ((old, version), (new, new_version))]
    if flexible[0] != flexible[1]:
        yield Problem("FLEXIBLE_VERSIONS_CHANGED", "", "it became flexible" if flexible[1] else "it is not flexible any more")
        return
    yield from problems(layout_at(old, version), layout_at(new, new_version))


def _break(old: Given, found: _Found, versions: tuple[Versions, ...], *, unreleased: bool) -> Break:
    problem, rule = found.problem, RULES[found.problem.rule]
    where = found.new or old
    line, column = where.place(problem.path, rule.key)
    return Break(
        problem.rule,
        found.severity,
        old.spec.name,
        problem.path,
        versions,
        f"{problem.what} (never released)" if unreleased else problem.what,
        rule.old_reads_new if problem.old_fails else None,
        rule.new_reads_old if problem.new_fails else None,
        where.spec.file,
        line,
        column,
    )


def spans(versions: Iterable[Versions]) -> str:
    """Ranges of versions in one text: 0-3, 5."""
    return ", ".join(map(str, versions))
