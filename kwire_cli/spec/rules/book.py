"""Hold one definition against a rule book: every violation at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.findings import Finding, Report, Spot
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.reading import read_definition
from kwire_cli.spec.rules.encodings import encoding_rules
from kwire_cli.spec.rules.fields import field_rules
from kwire_cli.spec.rules.message import message_rules
from kwire_cli.spec.rules.structs import struct_rules
from kwire_cli.spec.rules.table import BOOKS, DEFAULT_BOOK, REFUSED_KEYS, RULES
from kwire_cli.spec.rules.tags import tag_rules

if TYPE_CHECKING:
    from kwire_cli.spec.reading import Definition


def check(text: str, file: str | None = None, rules: str = DEFAULT_BOOK) -> list[Finding]:
    """Every violation of a rule book in a definition's text, in the order of the text; `rules` is one of BOOKS, else InputError."""
    return examine(text, file, rules)[1]


def examine(text: str, file: str | None, rules: str) -> tuple[Definition | None, list[Finding]]:
    """A definition as far as it can be read, with every violation of a rule book in it."""
    if rules not in BOOKS:
        raise InputError(f"no rule book is called {rules!a}; there are {', '.join(BOOKS)}")
    try:
        parsed = parse(text, file=file, comments=True, trailing=True)
    except SpecError as error:
        return None, [Finding("JSON_SYNTAX", "error", error.reason, file, error.line, error.column)]
    report = Report(file, parsed)
    for keys, place in parsed.duplicates:
        report.findings.append(Finding("DUPLICATE_KEY", "error", f"the key {keys[-1]!a} occurs twice", file, *place))
    if parsed.trailing:
        report.findings.append(Finding("TRAILING_TOKENS", "error", "nothing may follow the definition", file, *parsed.trailing))
    return examine_value(parsed.value, report, rules)


def examine_value(value: object, report: Report, rules: str) -> tuple[Definition | None, list[Finding]]:
    """As `examine`, from the parsed JSON; `report` holds what was found before and knows where things stand."""
    definition = read_definition(value, report)
    if definition:
        _refused_keys(definition, REFUSED_KEYS[rules])
        for rule in (message_rules, field_rules, tag_rules, struct_rules, encoding_rules):
            rule(definition)
    return definition, _of_book(report.findings, rules)


def _refused_keys(definition: Definition, refused: frozenset[str]) -> None:
    places = [(Spot(), definition.keys), *((struct.spot, struct.keys) for struct in definition.structs)]
    for spot, keys in (*places, *((item.spot, item.keys) for item in definition.walk())):
        for key in sorted(refused.intersection(keys)):
            definition.report.add("UNKNOWN_KEY", f"{key!a} is not a key of this rule book", spot.key(key))


def _of_book(findings: list[Finding], rules: str) -> list[Finding]:
    held = [
        finding._replace(severity="warning" if RULES[finding.rule].warning else "error") for finding in findings if rules in RULES[finding.rule].books
    ]
    return sorted(held, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))
