"""Advice on definitions, as findings of rules: conventions, and tags that do not pay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.carrying import carried
from kwire_cli.analysis.costs.definition_costs import set_fields
from kwire_cli.analysis.costs.forms import Form, written_form
from kwire_cli.errors import KwireError, SpecError
from kwire_cli.spec.conventions import conventions
from kwire_cli.spec.files import Finding, Report, Spot, json_files, read_text
from kwire_cli.spec.model import NONE
from kwire_cli.spec.rules import FATAL, LOADING, examine

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.reading import Definition, Item


# Advice on tagged fields that needs no traffic: what they cost where they are written, counted by writing
# them at their least values.

_SECTION = 1
"""Bytes of an empty tag section."""


class Cost(NamedTuple):
    """Bytes of a tagged field that is written: its tag and size, and its value; and of an ordinary one at its
    default.
    """

    header: int
    value: int
    plain_default: int


def tag_advice(definition: Definition) -> list[Finding]:
    """Tagged fields that pay only where they are mostly left out, and structs that spend more on tags than on what they
    hold.

    All of it at the latest version, where that is flexible.
    """
    spec = definition.spec
    version = spec.valid_versions.high
    if not spec.valid_versions or version not in spec.flexible_versions:
        return []
    of = definition.json.report
    report = Report(of.file, of.text, of.base)
    for spot, items in _structs(definition):
        _judge(spec, version, spot, [item for item in items if version in item.spec.versions], report)
    return [finding._replace(severity="advice") for finding in report.findings]


def _structs(definition: Definition) -> Iterator[tuple[Spot, Sequence[Item]]]:
    yield Spot().key("fields"), definition.items
    yield from ((struct.json.spot, struct.items) for struct in definition.structs)
    yield from ((item.json.spot, item.items) for item in definition.walk() if item.items)


def _judge(spec: MessageSpec, version: int, spot: Spot, items: list[Item], report: Report) -> None:
    tagged = [item for item in items if item.spec.tag is not None and version in item.spec.tagged_versions]
    try:
        costs = [tag_cost(spec, item.spec, version) for item in tagged]
        plain = struct_size(spec, [item.spec for item in items if item not in tagged], version) - _SECTION
    except KwireError:
        return  # what cannot be written is for the rules to say
    for item, cost in zip(tagged, costs, strict=True):
        if cost.header > cost.plain_default:
            left_out = f"{cost.header} of {cost.header + cost.plain_default}"
            sizes = f"a written tag takes {cost.header + cost.value} bytes, an ordinary field {cost.value}"
            report.add(
                "TAG_CHEAPER_AS_FIELD",
                f"{sizes}: the tag saves bytes only if it is omitted in more than {left_out} cases",
                item.json.spot.key("tag"),
            )
    spent, held = _SECTION + sum(cost.header for cost in costs), plain + sum(cost.value for cost in costs)
    if tagged and spent > held:
        report.add(
            "TAGS_OUTWEIGH_FIELDS",
            f"with all its tags it spends {spent} bytes on them, and {held} on what its fields hold",
            spot,
        )


def tag_cost(spec: MessageSpec, field: FieldSpec, version: int) -> Cost:
    """Return the cost of a tagged field at its smallest non-default value, at a version that writes the field."""
    plain = replace(field, tag=None, tagged_versions=NONE)
    [tagged] = set_fields(Form("a struct", replace(spec, fields=(field,)), version))
    value = struct_size(spec, [plain], version, {field.json_name: tagged.value}) - _SECTION
    return Cost((tagged.size or 0) - value, value, struct_size(spec, [plain], version) - _SECTION)


def struct_size(
    spec: MessageSpec, fields: Sequence[FieldSpec], version: int, values: dict[str, Any] | None = None
) -> int:
    """Return the bytes of a struct of these fields, at their defaults but for `values`, its tag section included."""
    form = Form("a struct", replace(spec, fields=tuple(fields)), version)
    return len(written_form(form, carried(form, values or {}).value))


# All advice on definitions that needs no traffic: conventions, and tags that do not pay.


def definition_advice(paths: Sequence[str | os.PathLike[str]]) -> list[Finding]:
    """Advice on files and on the *.json files of folders, in the order of each text; on what has no usable meaning
    there is none.
    """
    findings = []
    for path in json_files(paths):
        try:
            findings += advise(read_text(path), str(path))
        except SpecError:
            continue  # the rules say what is wrong with it
    return findings


def advise(text: str, file: str | None = None) -> list[Finding]:
    """Return advice on one definition."""
    definition, findings = examine(text, file, LOADING)
    if definition is None or any(finding.rule in FATAL for finding in findings):
        return []
    advice = [*conventions(definition), *tag_advice(definition)]
    return sorted(advice, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))
