"""What `kwire diff` does with definitions and with versions of a message: which are compared, and what is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from kwire_cli.cli.given_values import read_values
from kwire_cli.cli.spec import specs_of
from kwire_cli.cost.definitions import Cost, costs, forms_to_compare
from kwire_cli.cost.forms.model import Form
from kwire_cli.errors import InputError
from kwire_cli.spec.evolution.changes import Change, changes, definition_part, version_part
from kwire_cli.spec.evolution.matching import message_pairs
from kwire_cli.spec.evolution.sources import are_files, read_definitions

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.given_values import Values
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.evolution.given import Given


class Difference(NamedTuple):
    """What differs of a message between two sides, each with its name and, where it is one, its version."""

    message: str
    old: str | None
    new: str | None
    changes: list[Change]
    costs: list[Cost]
    versions: tuple[int, int] | None = None

    @property
    def status(self) -> str:
        """What became of the message in a word."""
        if self.old is None or self.new is None:
            return "added" if self.old is None else "removed"
        return "changed" if self.changes else "same"


def show_versions(environment: Environment, catalog: Catalog, message: str, versions: tuple[str, ...], fmt: str, values: str | None) -> bool:
    """Print what differs between two versions of a message, or of both halves of an api; whether anything does."""
    if not all(version.isascii() and version.isdecimal() and len(version) < 6 for version in versions):
        raise click.UsageError(f"two versions are numbers, as in kwire diff MetadataResponse 9 12; these are {' and '.join(versions)}")
    a, b = map(int, versions)
    given = None if values is None else read_values(environment, catalog, values)
    specs = specs_of(catalog, message)
    if given:
        specs = [spec for spec in specs if given.message in {None, spec.name}]
        if not specs:
            raise InputError(f"these are values of {given.message}, and not of {message}", file=given.name)
        if len(specs) > 1:
            raise InputError(f"these values could be of {specs[0].name} or of {specs[1].name}: give one of them", file=given.name)
    found = []
    for spec in specs:
        for version in (a, b):
            if version not in spec.valid_versions:
                raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")
        forms = (Form(f"version {a}", spec, a), Form(f"version {b}", spec, b))
        body = given.written(spec) if given else None
        part = changes(version_part(spec, a), version_part(spec, b))
        found.append(Difference(spec.name, f"{spec.name} {a}", f"{spec.name} {b}", part, costs(*forms, body), (a, b)))
    return _show(environment, found, fmt)


def show_definitions(environment: Environment, catalog: Catalog, a: str, b: str, fmt: str, values: str | None) -> bool:
    """Print what differs between two definitions, or two sets of them; whether anything does."""
    old, new = read_definitions([a]), read_definitions([b])
    given = None if values is None else read_values(environment, catalog, values)
    alone = are_files([a], old) or are_files([b], new)
    pairs = [pair for pair in message_pairs(old, new, part=alone) if not alone or all(pair)]
    if not pairs:
        raise InputError(f"there is no definition of the same message in {b}", file=a)
    if given and not any(before and after and _are_of(given, before, after, only=len(pairs) == 1) for before, after in pairs):
        no_message = 'no message: {"message": NAME, "body": ...} says of which'
        of = f"{given.message}, which is not there on both sides" if given.message else no_message
        raise InputError(f"these are values of {of}", file=given.name)
    found = []
    for before, after in pairs:
        files = (before.spec.file if before else None, after.spec.file if after else None)
        name = (after or before).spec.name  # type: ignore[union-attr]  # one of them is there
        if not before or not after:
            found.append(Difference(name, *files, [], []))
            continue
        body = given.written(before.spec, after.spec) if given and _are_of(given, before, after, only=len(pairs) == 1) else None
        part = changes(definition_part(before.spec), definition_part(after.spec))
        renamed = {change.old_path: change.path for change in part if change.kind == "renamed" and change.path}
        priced = [cost for forms in forms_to_compare(before.spec, after.spec) for cost in costs(*forms, body, renamed)]
        found.append(Difference(name, *files, part, priced))
    return _show(environment, found, fmt)


def _are_of(given: Values, before: Given, after: Given, *, only: bool) -> bool:
    """Whether values are of a message, under its old name or its new one; those that don't say of which are of the only one."""
    return only if given.message is None else given.message in {before.spec.name, after.spec.name}


def _show(environment: Environment, found: list[Difference], fmt: str) -> bool:
    from kwire_cli.view.changes import change_lines, cost_document, cost_lines
    from kwire_cli.view.json import dumps
    from kwire_cli.view.lines import without_control

    differing = [each for each in found if each.status != "same"]
    if fmt == "json":
        for each in differing if len(found) > 2 else found:
            sides = dict(zip(("oldVersion", "newVersion"), each.versions, strict=True)) if each.versions else {"old": each.old, "new": each.new}
            document = {"message": each.message, "status": each.status, **sides, "changes": [change.to_json() for change in each.changes]}
            environment.write(dumps(document | {"costs": [cost_document(cost) for cost in each.costs]}, indent=True))
        return bool(differing)
    for number, each in enumerate(found if len(found) <= 2 else differing):
        if number:
            environment.write("")
        if each.old is None or each.new is None:
            environment.write_lines(
                [[(f"{'+++' if each.new else '---'} {each.new or each.old}: ", "name"), (f"{each.message} is {each.status}", "title")]]
            )
            continue
        environment.write_lines(without_control([(f"{mark} {side}", "name")]) for mark, side in (("---", each.old), ("+++", each.new)))
        environment.write_lines(change_lines(each.changes) if each.changes else [[("no difference", "title")]])
        environment.write_lines(cost_lines(each.costs))
    if len(found) > 2:
        counts = [f"{number} {status}" for status in ("changed", "added", "removed", "same") if (number := sum(e.status == status for e in found))]
        environment.note(", ".join(counts))
    return bool(differing)
