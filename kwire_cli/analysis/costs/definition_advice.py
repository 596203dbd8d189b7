"""Advice on definitions, as findings of rules: conventions, and tags that do not pay.

The cost of a tag is computed without traffic: a struct is written with the tagged field at its smallest value, and with
an ordinary field of the same value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.changed_definitions import without_tags
from kwire_cli.analysis.costs.definition_costs import costs
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.errors import SpecError
from kwire_cli.spec.conventions import conventions
from kwire_cli.spec.files import Finding, Report, json_files, read_text
from kwire_cli.spec.rules import FATAL, LOADING, examine

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_cli.spec.reading import Definition

_SECTION = 1
"""Size of an empty tag section."""


def definition_advice(paths: Sequence[str | os.PathLike[str]]) -> list[Finding]:
    """Return advice on files and on the *.json files of folders, in the order of each text.

    Files without a usable meaning are left out.
    """
    findings = []
    for path in json_files(paths):
        try:
            findings += advise(read_text(path), str(path))
        except SpecError:
            continue  # the rules report this
    return findings


def advise(text: str, file: str | None = None) -> list[Finding]:
    """Return advice on one definition."""
    definition, findings = examine(text, file, LOADING)
    if definition is None or any(finding.rule in FATAL for finding in findings):
        return []
    advice = [*conventions(definition), *_tag_advice(definition)]
    return sorted(advice, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))


def _tag_advice(definition: Definition) -> list[Finding]:
    """Return the tagged fields that pay only if most structures omit them, at the latest version."""
    spec = definition.spec
    version = spec.valid_versions.high
    if not spec.valid_versions or version not in spec.flexible_versions:
        return []
    of = definition.json.report
    report = Report(of.file, of.text, of.base)
    items = [*definition.items]
    for struct in definition.structs:
        items += struct.items
    for parent in definition.walk():
        items += parent.items or ()
    for item in items:
        field = item.spec
        if version not in field.versions or field.tag is None or version not in field.tagged_versions:
            continue
        alone = replace(spec, fields=(field,))
        plain = without_tags(alone, {field.json_name})
        unset, *_, set_ = costs(Form("plain", plain, version), Form("tagged", alone, version))
        if unset.old.size is None or set_.old.size is None or set_.when_set is None:
            continue
        default = unset.old.size - _SECTION
        mandatory = set_.old.size - _SECTION
        written = set_.when_set
        if written - mandatory <= default:
            continue
        header = written - mandatory
        sizes = f"a written tag takes {written} bytes, an ordinary field {mandatory}"
        share = f"the tag saves bytes only if it is omitted in more than {header} of {header + default} cases"
        report.add("TAG_CHEAPER_AS_FIELD", f"{sizes}: {share}", item.json.spot.key("tag"))
    return [finding._replace(severity="advice") for finding in report.findings]
