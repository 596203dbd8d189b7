"""Advice from traffic as findings of rules, for `kwire lint --traffic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.advice import integers, taggable, tagged
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.advice_values import in_lines
from kwire_cli.errors import KwireError, counted
from kwire_cli.spec.files import Finding, Report, read_text
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.reading import read_definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.files import Spot
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.reading import Definition, Item

TRAFFIC_ADVICE: dict[str, str] = {
    "TRAFFIC_MOSTLY_DEFAULT": "A mandatory field is at its default in 90 % of its values or more, and as a "
    "tagged one it would have saved bytes.",
    "TRAFFIC_INT_WOULD_SHRINK": "An integer would have taken fewer bytes as a varint of KAFKA-9927.",
    "TRAFFIC_TAG_CHEAPER_AS_FIELD": "A tagged field is there so often that its tags and sizes cost more than the field "
    "would where it is left out.",
}
"""docs/advise.md has this list."""


def traffic_findings(catalog: Catalog, lines: Iterable[Captured]) -> list[Finding]:
    """Return the advice from the lines of captures: files of definitions, places of fields, and what would be saved."""
    observed = Observed(catalog)
    for message in in_lines(lines):
        observed.add(message)
    fields = observed.seen().fields()
    said: dict[str, list[tuple[str, str, str]]] = {}
    for flag in taggable(fields):
        text = f"at its default in {100 * flag.defaults:.1f} % of {counted(flag.count, 'value')}"
        text += f"; as a tagged field it would have saved {counted(flag.saving, 'byte')}"
        said.setdefault(flag.message, []).append((flag.path, "TRAFFIC_MOSTLY_DEFAULT", text))
    for row in integers(fields):
        name, size = min(((name, row.under[name]) for name in ("packed", "upacked")), key=lambda each: each[1])
        if size < row.bytes:
            text = (
                f"{counted(row.count, 'value')}, {100 * row.negative:.1f} % negative: {counted(row.bytes, 'byte')}, "
                f"and {size} as {name}{row.type[3:]}"
            )
            said.setdefault(row.message, []).append((row.path.removesuffix("[]"), "TRAFFIC_INT_WOULD_SHRINK", text))
    for tag in tagged(fields):
        text = f"there in {100 * tag.present:.1f} % of {counted(tag.count, 'structure')}"
        text += f"; without a tag it would have saved {counted(tag.saving, 'byte')}"
        said.setdefault(tag.message, []).append((tag.path, "TRAFFIC_TAG_CHEAPER_AS_FIELD", text))
    findings = [finding for name in sorted(said) for finding in _placed(catalog.message(name), said[name])]
    return sorted(
        findings, key=lambda finding: (finding.file or "", finding.line or 0, finding.column or 0, finding.rule)
    )


def _placed(spec: MessageSpec, said: Sequence[tuple[str, str, str]]) -> Iterator[Finding]:
    """The findings of one definition, where it stands in its file if that can be read."""
    definition = _definition(spec)
    spots = dict(_spots(definition, definition.items, "")) if definition else {}
    for path, rule, text in said:
        if definition and path in spots:
            definition.report.add(rule, text, spots[path])
            yield definition.report.findings.pop()._replace(severity="advice")
        else:
            yield Finding(rule, "advice", text, spec.file, path=f"{spec.name}.{path}")


def _definition(spec: MessageSpec) -> Definition | None:
    if not spec.file:
        return None
    try:
        text = parse(read_text(spec.file), file=spec.file, comments=True, trailing=True)
    except KwireError:
        return None
    return read_definition(text.value, Report(spec.file, text))


def _spots(definition: Definition, items: Sequence[Item], above: str) -> Iterator[tuple[str, Spot]]:
    """The places of all fields by the paths that `spec.changing` gives them; those of a common struct stand where that
    is described.
    """
    common = {struct.spec.name: struct.items for struct in definition.structs}
    for item in items:
        path = above + item.spec.json_name
        yield path, item.spot
        inside = item.items or common.get(item.spec.struct_name or "", ())
        yield from _spots(definition, inside, f"{path}[]." if item.spec.is_array else f"{path}.")
