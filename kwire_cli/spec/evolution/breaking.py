"""The compatibility of two sets of definitions: rules, remarks, and every broken rule.

Messages are paired, and the layouts of each common version compared (`changes.problems`). Each problem breaks a rule,
whose severity depends on whether bytes, values or only names are affected. Versions with equal layouts are compared
once.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire_cli.spec.evolution.changes import Problem, changes, definition_part, problems, shown
from kwire_cli.spec.evolution.layout import Stretches, layout_at, matched
from kwire_cli.spec.files import Finding
from kwire_cli.spec.model import Versions, fields_by_path, header_version_of, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.evolution.changes import Change
    from kwire_cli.spec.evolution.layout import Common, Match
    from kwire_cli.spec.evolution.sources import Definitions, Given
    from kwire_cli.spec.model import MessageSpec


# Every rule of compatibility: its id, its severity, and its effect on the bytes in either direction.

Severity = Literal["wire", "tagged", "source", "advice"]


SEVERITIES: dict[Severity, str] = {
    "wire": "One side can't read what the other writes, reads other values out of it, or finds no version in common.",
    "tagged": "All bytes can be read, but the value of a tagged field is lost or becomes another.",
    "source": "The bytes are the same; programs that use the definitions have to be changed, or do something else.",
    "advice": "Names and remarks, and any change in a version that was never released.",
}
"""Meanings of the severities, the worst first."""


class Rule(NamedTuple):
    """A rule. `old_reads_new` is the fault of an old reader with the bytes of a new writer, `new_reads_old` the
    converse; None if the reader has no fault.
    """

    severity: Severity
    summary: str
    old_reads_new: str | None = None
    new_reads_old: str | None = None
    key: str = ""
    """The key of a definition that the rule is about, if any."""


_SHIFTED = "takes the bytes of other fields for it"
_GARBLED = "reads the bytes as another type"
_NULL = "fails on a null"
_PRESENCE = "takes the presence byte for part of the fields, or a field for the presence byte"
_NO_VERSION = "fails if the two have no other version in common"
_KNOWN_TAG = "knows the tag from other versions and fails: Tag N is not valid for version V"

RULES: dict[str, Rule] = {
    # The message
    "MESSAGE_REMOVED": Rule(
        "wire",
        "A message is gone, or has no versions any more.",
        None,
        "finds no definition of it",
        key="validVersions",
    ),
    "MESSAGE_TYPE_CHANGED": Rule(
        "wire",
        "A message became a message of another type, with other headers.",
        "reads another header",
        "reads another header",
        key="type",
    ),
    "API_KEY_CHANGED": Rule(
        "wire",
        "A message has another apiKey.",
        "takes it for another message",
        "takes it for another message",
        key="apiKey",
    ),
    "VERSIONS_REMOVED": Rule("wire", "Versions are no longer valid.", _NO_VERSION, _NO_VERSION, key="validVersions"),
    "VERSION_WITHDRAWN": Rule(
        "wire",
        "A released version became unstable, and is no longer offered.",
        _NO_VERSION,
        _NO_VERSION,
        key="latestVersionUnstable",
    ),
    "FLEXIBLE_VERSIONS_CHANGED": Rule(
        "wire",
        "A version became flexible, or is flexible no more: its lengths, its tag sections and its header are others.",
        "reads lengths and tag sections that do not exist",
        "reads lengths and tag sections that do not exist",
        key="flexibleVersions",
    ),
    "HEADER_VERSION_CHANGED": Rule(
        "wire",
        "A version has another header version.",
        "reads another header",
        "reads another header",
        key="headerVersions",
    ),
    # Mandatory fields
    "FIELD_REMOVED": Rule("wire", "A mandatory field is gone from an existing version.", _SHIFTED, _SHIFTED),
    "FIELD_ADDED": Rule("wire", "A mandatory field was added to an existing version.", _SHIFTED, _SHIFTED),
    "FIELD_MOVED": Rule("wire", "The mandatory fields of an existing version have another order.", _SHIFTED, _SHIFTED),
    "TYPE_CHANGED": Rule(
        "wire", "A mandatory field has another type in an existing version.", _GARBLED, _GARBLED, key="type"
    ),
    "ENCODING_CHANGED": Rule(
        "wire",
        "An integer has another encoding in an existing version (KAFKA-9927).",
        _GARBLED,
        _GARBLED,
        key="encoding",
    ),
    "NULLABLE_ADDED": Rule("wire", "A field may be null in an existing version.", _NULL, None, key="nullableVersions"),
    "NULLABLE_REMOVED": Rule(
        "wire", "A field may no longer be null in an existing version.", None, _NULL, key="nullableVersions"
    ),
    "NULLABLE_STRUCT_CHANGED": Rule(
        "wire",
        "A struct, mandatory or tagged, got or lost the byte that marks it as null or present.",
        _PRESENCE,
        _PRESENCE,
    ),
    "COMPACT_CHANGED": Rule(
        "wire",
        "The length of a field became a varint or is one no more (flexibleVersions of the field).",
        _GARBLED,
        _GARBLED,
    ),
    # Tagged fields
    "TAG_ON_INFLEXIBLE_VERSION": Rule(
        "wire", "A tagged field was added to a version that is not flexible.", _SHIFTED, _SHIFTED
    ),
    "MANDATORY_TO_TAGGED": Rule(
        "wire", "A mandatory field is tagged in an existing version.", _SHIFTED, _SHIFTED, key="tag"
    ),
    "TAGGED_TO_MANDATORY": Rule("wire", "A tagged field is mandatory in an existing version.", _SHIFTED, _SHIFTED),
    "TAG_REUSED": Rule(
        "wire",
        "A tag is another field's in an existing version: reused, or swapped with another.",
        "takes the new field for the old one",
        "takes the old field for the new one",
        key="tag",
    ),
    "TAG_TYPE_CHANGED": Rule(
        "wire", "A tagged field has another type in an existing version.", _GARBLED, _GARBLED, key="type"
    ),
    "TAG_NULLABLE_CHANGED": Rule(
        "wire", "A tagged field may be null, or may no longer be, in an existing version.", _NULL, _NULL
    ),
    "TAG_WIDENED": Rule(
        "wire",
        "A tag that older versions knew but did not allow is allowed in them now.",
        _KNOWN_TAG,
        key="taggedVersions",
    ),
    "TAG_NARROWED": Rule(
        "wire",
        "A tag is no longer allowed in an existing version, but still known from others.",
        None,
        _KNOWN_TAG,
        key="taggedVersions",
    ),
    "TAGGED_REMOVED": Rule(
        "tagged",
        "A tagged field is gone from an existing version.",
        None,
        "skips the field as an unknown one: its value is lost",
    ),
    "TAG_NUMBER_CHANGED": Rule(
        "tagged",
        "A tagged field has another number in an existing version.",
        "skips the field as an unknown one and takes its default",
        "skips the field as an unknown one and takes its default",
        key="tag",
    ),
    "TAG_DEFAULT_CHANGED": Rule(
        "tagged",
        "A tagged field has another default in an existing version, and is left out at its default.",
        "uses its own default for the omitted field",
        "uses its own default for the omitted field",
        key="default",
    ),
    "TAG_NUMBER_TAKEN": Rule(
        "tagged",
        "A tag that a field had in other versions is given to another field; KIP-482 never reuses one.",
        key="tag",
    ),
    # The same bytes
    "SAME_BYTES_OTHER_TYPE": Rule(
        "source", "A field has another type that is the same bytes (records and bytes, int64 as fixed32 and int32)."
    ),
    "MESSAGE_KIND_CHANGED": Rule(
        "source",
        "A message became one of another type without headers: data, coordinator-key, coordinator-value.",
        key="type",
    ),
    "DEFAULT_CHANGED": Rule(
        "source", "A mandatory field has another default: who leaves it unset writes another value.", key="default"
    ),
    "MAP_KEY_CHANGED": Rule(
        "source",
        "A field became a key of its array or is one no more: generated code has another collection.",
        key="mapKey",
    ),
    "ZERO_COPY_CHANGED": Rule(
        "source", "Bytes became zeroCopy or are so no more: generated code has another type.", key="zeroCopy"
    ),
    # Names and remarks
    "MESSAGE_RENAMED": Rule("advice", "A message has another name.", key="name"),
    "FIELD_RENAMED": Rule("advice", "A field has another name; it is the same by its place, type and tag.", key="name"),
    "STRUCT_RENAMED": Rule("advice", "The struct of a field has another name."),
    "IGNORABLE_CHANGED": Rule(
        "advice", "Whether a value is dropped or refused in versions without the field changed.", key="ignorable"
    ),
    "ENTITY_TYPE_CHANGED": Rule("advice", "The kind of entity that a field names changed.", key="entityType"),
    "LISTENERS_REMOVED": Rule("advice", "A request is no longer served by some kind of listener.", key="listeners"),
}
"""The rules in the order of their severity and subject."""


# What breaks no bytes at any one version: names, defaults of mandatory fields, what generated code looks
# like, and tags given to others.

_BY_KEY = {
    "ignorable": "IGNORABLE_CHANGED",
    "entityType": "ENTITY_TYPE_CHANGED",
    "mapKey": "MAP_KEY_CHANGED",
    "zeroCopy": "ZERO_COPY_CHANGED",
}


def remarks(old: MessageSpec, new: MessageSpec) -> Iterator[Problem]:
    """Yield the broken rules about the definitions themselves, for all versions."""
    differences = changes(definition_part(old), definition_part(new))
    for change in differences:
        yield from _remark(change)
    renamed = {change.old_path: change.path for change in differences if change.kind == "renamed" and change.path}
    yield from _taken_tags(old, new, renamed)


def _remark(change: Change) -> Iterator[Problem]:
    if not change.path:
        if change.key == "listeners" and (lost := [name for name in change.old if name not in change.new]):
            yield _quiet("LISTENERS_REMOVED", "", f"{', '.join(lost)} no longer named")
    elif change.kind == "renamed":
        yield _quiet("FIELD_RENAMED", change.path, f"{change.old_path} became {change.path}")
    elif change.kind == "retyped":
        names = [part.facts["type"].removeprefix("[]") for part in (change.before, change.after) if part]
        if all(name[:1].isupper() for name in names) and change.old.startswith("[]") == change.new.startswith("[]"):
            yield _quiet("STRUCT_RENAMED", change.path, f"{change.old} became {change.new}")
    elif change.key == "default":
        # The default of a tagged field is on the wire by being left out, and judged version by version.
        # An implied default changes with the type.
        retyped = change.before and change.after and change.before.facts["type"] != change.after.facts["type"]
        implied = retyped and not (change.old or change.new)
        if change.after and change.after.facts["tag"] is None and not implied:
            yield _quiet("DEFAULT_CHANGED", change.path, f"the default {shown(change.old)} became {shown(change.new)}")
    elif rule := _BY_KEY.get(change.key or ""):
        yield _quiet(rule, change.path, f"{change.key} was {shown(change.old)} and is {shown(change.new)}")


def _quiet(rule: str, path: str, what: str) -> Problem:
    return Problem(rule, path, what, old_fails=False, new_fails=False)


def _taken_tags(old: MessageSpec, new: MessageSpec, renamed: dict[str, str]) -> Iterator[Problem]:
    """Yield the tags that an old field of a struct had, in any version, and another field of it has now."""
    before: dict[tuple[str, int], set[str]] = {}
    for path, field in fields_by_path(old):
        if field.tag is not None:
            now = _new_path(path, renamed)
            before.setdefault((_struct(now), field.tag), set()).add(now)
    for path, field in fields_by_path(new):
        owners = before.get((_struct(path), field.tag)) if field.tag is not None else None
        if owners and path not in owners:
            names = " and ".join(sorted(owner.rpartition(".")[2] for owner in owners))
            yield _quiet("TAG_NUMBER_TAKEN", path, f"tag {field.tag} was that of {names}")


def _new_path(path: str, renamed: dict[str, str]) -> str:
    """Return the new path of an old field, which also changes if an enclosing struct was renamed."""
    plain = path.removesuffix("[]")
    if plain in renamed:
        return renamed[plain] + path[len(plain) :]
    above, dot, name = path.rpartition(".")
    return f"{_new_path(above, renamed)}.{name}" if dot else path


def _struct(path: str) -> str:
    return path.rpartition(".")[0]


# The compatibility of two sets of definitions: every rule that the change from the old to the new one breaks, with the
# readers that fail and the place.


class _VersionProblem(NamedTuple):
    """A problem in one version or more: its severity there, and the definition that has it."""

    problem: Problem
    severity: Severity
    new: Given | None


_WITHOUT_HEADERS = frozenset({"data", "coordinator-key", "coordinator-value"})


def breaking(old: Definitions, new: Definitions, *, part: bool = False) -> list[Finding]:
    """Return everything that two sets of definitions break, by message in the order of the old ones, the worst first.

    With `part` the new definitions are a subset: none is reported as missing, and if each side has one definition,
    these are compared.
    """
    breaks: list[Finding] = []
    order = list[str](SEVERITIES)
    for match in matched(old, new, part=part):
        breaks += sorted(_of_message(match), key=lambda found: order.index(found.severity))
    return breaks


def _of_message(match: Match) -> Iterator[Finding]:
    findings: dict[_VersionProblem, list[Versions]] = {}
    for problem in _of_definition(match):
        # Of a message that was never released there are no programs either.
        severity: Severity = (
            "advice" if match.unreleased.covers(match.old.spec.valid_versions) else RULES[problem.rule].severity
        )
        findings[_VersionProblem(problem, severity, match.new)] = []
    for versions, new, problem in _of_versions(match):
        unreleased = versions & match.unreleased
        released = (Versions(versions.low, versions.high - 1) if unreleased else versions, RULES[problem.rule].severity)
        for some, how_bad in (released, (unreleased, "advice")):
            if some:
                findings.setdefault(_VersionProblem(problem, how_bad, new), []).append(some)
    reused = {finding.problem.path for finding in findings if finding.problem.rule == "TAG_REUSED"}
    for finding, ranges in findings.items():
        if finding.problem.rule != "TAG_NUMBER_TAKEN" or finding.problem.path not in reused:
            yield _break(
                match.old,
                finding,
                joined(ranges),
                unreleased=bool(ranges) and all(map(match.unreleased.covers, ranges)),
            )


def _of_definition(match: Match) -> Iterator[Problem]:
    """Yield the problems that do not depend on a version."""
    if not match.new or not match.new.spec.valid_versions:
        return
    old = match.old.spec
    new = match.new.spec
    if old.name != new.name:
        yield Problem("MESSAGE_RENAMED", "", f"it is {new.name} now", old_fails=False, new_fails=False)
    if old.type != new.type:
        kin = {old.type, new.type} <= _WITHOUT_HEADERS
        yield Problem(
            "MESSAGE_KIND_CHANGED" if kin else "MESSAGE_TYPE_CHANGED",
            "",
            f"{old.type} became {new.type}",
            not kin,
            not kin,
        )
    if old.api_key != new.api_key and not (old.api_key is None and old.type in _WITHOUT_HEADERS):
        yield Problem("API_KEY_CHANGED", "", f"{old.api_key} became {new.api_key}")
    yield from remarks(old, new)


def _of_versions(match: Match) -> Iterator[tuple[Versions, Given | None, Problem]]:
    """Yield the problems at versions, with the definition that has these versions now."""
    old = match.old.spec
    new = match.new
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
        yield (
            match.withdrawn,
            new,
            Problem("VERSION_WITHDRAWN", "", "latestVersionUnstable was set on a released version"),
        )
    messages = dict.fromkeys((match.old, *(common.new for common in match.common)))
    stretches = {message: Stretches(message.spec) for message in messages}

    def comparison(common: Common) -> tuple[object, ...]:
        version, message, new_version = common
        headers = header_version_of(old, version), header_version_of(message.spec, new_version)
        return (*headers, stretches[match.old].of(version), message, stretches[message].of(new_version))

    for _, group in groupby(match.common, comparison):
        first, *rest = group
        versions = Versions(first.version, rest[-1].version if rest else first.version)
        for problem in (*_headers(old, *first), *_layouts(old, *first)):
            yield versions, first.new, problem


def _headers(old: MessageSpec, version: int, given: Given, new_version: int) -> Iterator[Problem]:
    new = given.spec
    before = header_version_of(old, version)
    after = header_version_of(new, new_version)
    same = (old.type, old.api_key, version in old.flexible_versions) == (
        new.type,
        new.api_key,
        new_version in new.flexible_versions,
    )
    if same and before != after:
        yield Problem("HEADER_VERSION_CHANGED", "", f"{before} became {after}")


def _layouts(old: MessageSpec, version: int, given: Given, new_version: int) -> Iterator[Problem]:
    new = given.spec
    flexible = [number in spec.flexible_versions for spec, number in ((old, version), (new, new_version))]
    if flexible[0] != flexible[1]:
        yield Problem(
            "FLEXIBLE_VERSIONS_CHANGED", "", "it became flexible" if flexible[1] else "it is not flexible any more"
        )
        return
    yield from problems(layout_at(old, version), layout_at(new, new_version))


def _break(old: Given, found: _VersionProblem, versions: tuple[Versions, ...], *, unreleased: bool) -> Finding:
    problem = found.problem
    rule = RULES[problem.rule]
    where = found.new or old
    return Finding(
        problem.rule,
        found.severity,
        f"{problem.what} (never released)" if unreleased else problem.what,
        where.spec.file,
        *where.place(problem.path, rule.key),
        problem.path,
        old.spec.name,
        versions,
        rule.old_reads_new if problem.old_fails else None,
        rule.new_reads_old if problem.new_fails else None,
    )


def spans(versions: Iterable[Versions]) -> str:
    """Return ranges of versions as text: 0-3, 5."""
    return ", ".join(map(str, versions))
