"""Rule books: every rule by its id, and definitions or folders checked against a book.

A book is a set of rules and a grammar of keys. All violations are reported at once, in the order of the text. A fatal
rule protects the meaning of a definition: loading a definition that violates it raises SpecError.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec import grammars
from kwire_cli.spec.files import Finding, Report, json_files, module_of, read_text, successor_of
from kwire_cli.spec.generated_structs import generated_structs
from kwire_cli.spec.jsontext import parse
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.spec.reading import read_definition
from kwire_cli.spec.rule_checks import encoding_rules, field_rules, message_rules, struct_rules, tag_rules

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from kwire_cli.spec.files import Severity
    from kwire_cli.spec.reading import Definition


# Every rule: its id, what breaks it, which rule books hold it, and whether a definition that breaks it can be
# loaded.

DEFAULT_BOOK = f"kafka-{RELEASE}"


BOOKS = (DEFAULT_BOOK, "kip482", "kip482-draft", "kafka9927")

LOADING = "loading"
"""What kwire itself loads: the rules of kafka9927, and elementEncoding, which is kwire's own. No book to choose."""

GRAMMARS = {
    DEFAULT_BOOK: grammars.KAFKA,
    "kip482": grammars.KIP482,
    "kip482-draft": grammars.KIP482_DRAFT,
    "kafka9927": grammars.KAFKA9927,
    LOADING: grammars.KWIRE,
}

_KAFKA = (DEFAULT_BOOK, "kafka9927")


class Rule(NamedTuple):
    """A rule. A fatal one is broken by definitions that have no usable meaning: loading them raises SpecError.

    A rule of `generated` code is a warning for a message without valid versions: Kafka generates no code for it.
    """

    summary: str
    books: tuple[str, ...] = BOOKS
    fatal: bool = False
    warning: bool = False
    generated: bool = False

    def severity(self, definition: Definition | None) -> Severity:
        """Return the severity of the rule for a definition."""
        unused = self.generated and definition and not definition.spec.valid_versions
        return "warning" if self.warning or unused else "error"


RULES: dict[str, Rule] = {
    # The text
    "JSON_SYNTAX": Rule("The text is not JSON (comments apart), or nests deeper than 64 levels.", fatal=True),
    "TRAILING_TOKENS": Rule("Something follows the definition."),
    "DUPLICATE_KEY": Rule("A key occurs twice in one object; Kafka's parser takes the last.", warning=True),
    "NOT_AN_OBJECT": Rule("The text is not one JSON object.", fatal=True),
    "UNKNOWN_KEY": Rule("A key that the rule book's grammar does not have."),
    "KEY_TYPE": Rule("A key's value has a JSON type that the key does not allow.", fatal=True),
    "VERSIONS_SYNTAX": Rule("A version range is not `none`, `3`, `0-9` or `9+`, or goes beyond 32767.", fatal=True),
    "VERSIONS_REVERSED": Rule("A version range runs backwards (`3-1`); Kafka takes it as empty.", warning=True),
    # The message
    "NAME_MISSING": Rule("The message has no name.", fatal=True),
    "MESSAGE_NAME_INVALID": Rule(
        "The message's name is not letters, digits and underscores, a letter first.", fatal=True
    ),
    "NAME_REQUEST_SUFFIX": Rule("A request's name does not end in Request."),
    "NAME_RESPONSE_SUFFIX": Rule(
        "A response's name does not end in Response: Kafka generates code that does not compile.", warning=True
    ),
    "TYPE_MISSING": Rule("The message has no type.", fatal=True),
    "TYPE_UNKNOWN": Rule("The message's type is none of Kafka's.", fatal=True),
    "VALID_VERSIONS_MISSING": Rule("The message has no validVersions.", fatal=True),
    "VALID_VERSIONS_OPEN": Rule("validVersions has no upper end.", fatal=True),
    "FLEXIBLE_VERSIONS_MISSING": Rule(
        "The message has no flexibleVersions (mandatory since Kafka 3.0, except for messages without valid versions)."
    ),
    "FLEXIBLE_VERSIONS_CLOSED": Rule("flexibleVersions is neither none nor open-ended.", _KAFKA, generated=True),
    "API_KEY_MISSING": Rule("A request, response, metadata or coordinator message has no apiKey."),
    "API_KEY_RANGE": Rule("apiKey is not an int16.", fatal=True),
    "LISTENER_UNKNOWN": Rule("A listener is none of zkBroker, broker, controller."),
    "LISTENER_REMOVED": Rule("A listener that Kafka 4.0 removed: zkBroker.", (DEFAULT_BOOK,)),
    "LISTENERS_ON_NON_REQUEST": Rule("Listeners are named on something other than a request.", generated=True),
    "UNSTABLE_ON_NON_REQUEST": Rule("latestVersionUnstable is true on something other than a request.", generated=True),
    "COORDINATOR_KEY_VERSIONS": Rule("A coordinator-key has validVersions other than 0.", _KAFKA, generated=True),
    "COORDINATOR_KEY_FLEXIBLE": Rule("A coordinator-key has flexible versions.", _KAFKA, generated=True),
    "HEADER_VERSIONS_TYPE": Rule(
        "headerVersions on something other than a request or response, or on a message without valid versions.", _KAFKA
    ),
    "HEADER_VERSIONS_RANGE": Rule(
        "headerVersions is empty, or its ranges do not ascend without gaps from 0 to an open end.", _KAFKA
    ),
    "HEADER_VERSIONS_VALUE": Rule(
        "A header version does not exist: 0 to 3 for requests, 0 or 1 for responses.", _KAFKA
    ),
    "HEADER_VERSIONS_BEYOND_VALID": Rule("A range of headerVersions starts above the highest valid version.", _KAFKA),
    "HEADER_VERSIONS_API_VERSIONS": Rule("The response of api key 18 has a header version other than 0.", _KAFKA),
    "HEADER_VERSIONS_DECREASING": Rule("Header versions decrease from one range to the next.", _KAFKA),
    "HEADER_VERSIONS_NOT_FLEXIBLE": Rule("A flexible version has a header that is not flexible.", _KAFKA),
    # Fields
    "FIELD_NAME_MISSING": Rule("A field has no name.", fatal=True),
    "FIELD_NAME_INVALID": Rule("A field's name is not letters and digits, a letter first.", fatal=True),
    "FIELD_NAME_DUPLICATE": Rule("Two fields of one struct have the same name.", fatal=True),
    "FIELD_NAME_CASE": Rule(
        "Names of two fields of one struct differ only in the case of the first letter: Kafka generates code that does "
        "not compile.",
        fatal=True,
        warning=True,
    ),
    "FIELD_TYPE_MISSING": Rule("A field has no type.", fatal=True),
    "FIELD_TYPE_UNKNOWN": Rule("A type is neither one of Kafka's nor a struct (capital letter first).", fatal=True),
    "RECORDS_ARRAY": Rule("An array has the elements records."),
    "FIELD_TYPE_ARRAY": Rule("An array has no element type, or arrays as elements.", fatal=True),
    "FIELD_VERSIONS_MISSING": Rule("A field has neither versions nor taggedVersions nor a tag.", fatal=True),
    "FIELD_NO_COMMON_VERSIONS": Rule(
        "A field without a struct exists in no version of the struct that it is in.", _KAFKA, warning=True
    ),
    "FIELD_FLEXIBLE_TYPE": Rule("A field that is neither string nor bytes has flexibleVersions."),
    "FIELD_FLEXIBLE_NOT_SUBSET": Rule(
        "A field's flexibleVersions are not all flexible versions of the message.", generated=True
    ),
    "NULLABLE_TYPE": Rule("A type that can't be null has nullableVersions.", fatal=True),
    "SUBFIELDS_ON_NON_STRUCT": Rule("A field that is neither a struct nor an array has sub-fields."),
    "SUBFIELDS_IGNORED": Rule(
        "An array of a basic type has sub-fields, which Kafka's generator ignores.", warning=True
    ),
    "MAP_KEY_TOP_LEVEL": Rule("mapKey on a field of the message itself.", generated=True),
    "ENTITY_TYPE_UNKNOWN": Rule("An entityType that Kafka does not have."),
    "ENTITY_TYPE_MISMATCH": Rule("A field's type does not match its entityType."),
    "ZERO_COPY_TYPE": Rule("zeroCopy on a field that is not bytes."),
    "ZERO_COPY_TAGGED": Rule("zeroCopy on a tagged field: Kafka generates code that does not compile.", warning=True),
    "DEFAULT_INVALID": Rule("A default is not a value of the field's type.", fatal=True, generated=True),
    "DEFAULT_IGNORED": Rule("A default of records other than null; Kafka ignores it.", fatal=True, warning=True),
    "DEFAULT_NULL_NOT_NULLABLE": Rule(
        "A default of null on a field that is not nullable in all its versions.", generated=True
    ),
    "DEFAULT_IN_JAVA": Rule(
        "A default that is another number in Kafka's generated Java (010 is octal there), or does not compile.",
        warning=True,
    ),
    # Tags
    "TAG_RANGE": Rule("A tag is negative or above 2147483647.", fatal=True),
    "TAG_DUPLICATE": Rule("Two fields of one struct have the same tag.", fatal=True),
    "TAG_NOT_CONTIGUOUS": Rule("The tags of a struct do not run from 0 without gaps.", _KAFKA),
    "TAG_WITHOUT_TAGGED_VERSIONS": Rule(
        "A tag without taggedVersions (KIP-482 takes that as all flexible versions).", _KAFKA
    ),
    "TAGGED_VERSIONS_WITHOUT_TAG": Rule("taggedVersions without a tag."),
    "TAG_MAP_KEY": Rule("A tagged field is a mapKey."),
    "TAGGED_VERSIONS_CLOSED": Rule("taggedVersions is not open-ended.", _KAFKA),
    "TAGGED_NOT_IN_VERSIONS": Rule("taggedVersions is not within versions."),
    "TAGGED_NOT_FLEXIBLE": Rule("taggedVersions is not within the flexible versions.", generated=True),
    "TAGGED_PARTLY_NULLABLE": Rule("A tagged field is nullable in some of its tagged versions, but not in all."),
    "TAGGED_RECORDS": Rule("A field of the type records is tagged.", _KAFKA),
    "KIP482_VERSIONS_MISSING": Rule("taggedVersions without versions, which KIP-482 also requires.", ("kip482",)),
    "DRAFT_TAGGED_ARRAY": Rule("A tagged array, which the draft of KIP-482 forbids.", ("kip482-draft",)),
    "DRAFT_TAG_OUTSIDE": Rule(
        "A field with a tag outside optionalFields, where the draft of KIP-482 has them.", ("kip482-draft",)
    ),
    "DRAFT_TAG_MISSING": Rule("A field in optionalFields without a tag."),
    # Structs
    "STRUCT_NAME": Rule(
        "A common struct has no name, or one that does not start with a capital letter.", generated=True
    ),
    "STRUCT_NAME_INVALID": Rule("A struct's name is not letters, digits and underscores, a letter first.", fatal=True),
    "STRUCT_VERSIONS_MISSING": Rule("A common struct, or a field with sub-fields, has no versions.", _KAFKA),
    "STRUCT_DUPLICATE": Rule("A struct is described twice.", generated=True),
    "STRUCT_INLINE_AND_COMMON": Rule("A field of a common struct's type has separate sub-fields.", generated=True),
    "STRUCT_EMPTY": Rule("A struct that is described nowhere; Kafka takes it as one without fields.", warning=True),
    "STRUCT_NOT_COMMON": Rule("A common struct uses a struct that is not common.", generated=True),
    "STRUCT_NO_COMMON_VERSIONS": Rule(
        "A field of a struct exists in no version of the enclosing struct, or a common struct in no version.", _KAFKA
    ),
    "STRUCT_USED_EARLY": Rule("A field of a struct exists in a version before the first of the struct.", _KAFKA),
    "STRUCT_RECURSIVE": Rule("A struct contains itself.", fatal=True, warning=True),
    "STRUCT_TOO_LARGE": Rule(
        "Written out, the structs nest deeper than 48 levels or have more than 100000 fields.", fatal=True, warning=True
    ),
    # Encodings
    "ENCODING_TYPE": Rule(
        "encoding on a type other than int16, int32, int64, or elementEncoding on anything but an array of them.",
        fatal=True,
    ),
    "ENCODING_RANGES": Rule("The versions of an encoding are not exactly the field's versions.", fatal=True),
    "ENCODING_OVERLAP": Rule("Two version ranges of an encoding overlap.", fatal=True),
    "ENCODING_NAME": Rule("An encoding's name is not (fixed|packed|upacked)(16|32|64).", fatal=True),
    # Several files
    "API_KEY_DUPLICATE": Rule(
        "Two requests, two responses, or two records of one kind and module have the same apiKey."
    ),
    "NAME_DUPLICATE": Rule("Two definitions have the same name."),
    "PAIR_MISSING": Rule("A request without its response, or a response without its request."),
}

FATAL = frozenset(name for name, rule in RULES.items() if rule.fatal)

# The check of one definition by a rule book, which reports all violations at once.


def examine(text: str, file: str | None, rules: str) -> tuple[Definition | None, list[Finding]]:
    """Return the readable part of a definition, with every violation of a rule book in it, in the order of the text.

    `rules` is one of BOOKS, else InputError.
    """
    if rules not in GRAMMARS:
        raise InputError(f"no rule book is called {rules!a}; there are {', '.join(BOOKS)}")
    try:
        parsed = parse(text, file)
    except SpecError as error:
        return None, [Finding("JSON_SYNTAX", "error", error.reason, file, error.line, error.column)]
    report = Report(file, parsed)
    if parsed.trailing:
        report.findings.append(
            Finding("TRAILING_TOKENS", "error", "nothing may follow the definition", file, *parsed.trailing)
        )
    return examine_value(parsed.value, report, rules)


def examine_value(value: object, report: Report, rules: str) -> tuple[Definition | None, list[Finding]]:
    """Check a definition as `examine` does, from the parsed JSON."""
    report.findings += [
        Finding("DUPLICATE_KEY", "error", f"the key {keys[-1]!a} occurs twice", report.file, *place)
        for keys, place in report.duplicates
    ]
    definition = read_definition(value, report)
    if definition:
        GRAMMARS[rules].unknown_keys(definition)
        for rule in (message_rules, field_rules, tag_rules, struct_rules, generated_structs, encoding_rules):
            rule(definition)
    book = "kafka9927" if rules == LOADING else rules
    held = [
        finding._replace(severity=RULES[finding.rule].severity(definition))
        for finding in report.findings
        if book in RULES[finding.rule].books
    ]
    return definition, sorted(held, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))


# Rules that hold between definitions (Kafka's ApiMessageTypeGenerator, MetadataRecordTypeGenerator,
# CoordinatorRecordTypeGenerator).


def check_folder(paths: Sequence[str | os.PathLike[str]], rules: str = DEFAULT_BOOK) -> list[Finding]:
    """Return every violation in files and in the *.json files of folders: of each file, then between the files.

    Raise InputError for a missing path. If only files are named, a missing half of a pair is not a violation.
    """
    texts: list[tuple[str, str]] = []
    unreadable: list[Finding] = []
    for path in json_files(paths):
        try:
            texts.append((read_text(path), str(path)))
        except SpecError as error:
            unreadable.append(Finding("JSON_SYNTAX", "error", error.reason, error.file, error.line, error.column))
    return unreadable + check_many(texts, rules, part=all(Path(path).is_file() for path in paths))


def check_many(
    texts: Iterable[tuple[str, str | None]], rules: str = DEFAULT_BOOK, *, part: bool = False
) -> list[Finding]:
    """Return every violation in definitions, which are pairs of text and file: of each definition, then between them.

    With `part` the definitions are a subset, so a missing half of a pair is not a violation.
    """
    findings: list[Finding] = []
    definitions: list[Definition] = []
    for text, file in texts:
        definition, violations = examine(text, file, rules)
        findings += violations
        if definition and definition.spec.name:
            definitions.append(definition)
    between = _between(definitions)
    return findings + [finding for finding in between if not (part and finding.rule == "PAIR_MISSING")]


def _between(definitions: list[Definition]) -> list[Finding]:
    findings: list[Finding] = []
    names: dict[str, Definition] = {}
    keys: dict[tuple[str, str | None, int], str] = {}
    for definition in definitions:
        spec = definition.spec
        add = definition.json.add
        if spec.name in names:
            text = f"{spec.name} is defined in {names[spec.name].spec.file} too"
            findings.append(add("NAME_DUPLICATE", text, "name"))
        names.setdefault(spec.name, definition)
        # An api that another one took over has that one's key by right.
        if spec.api_key is None or successor_of(spec.name):
            continue
        key = (spec.type, module_of(spec.name, spec.type), spec.api_key)
        if keys.setdefault(key, spec.name) != spec.name:
            text = f"{keys[key]} has the {spec.type} key {spec.api_key} too"
            findings.append(add("API_KEY_DUPLICATE", text, "apiKey"))
    for name, definition in names.items():
        other = _other_message(name, definition.spec.type)
        if other and other not in names:
            findings.append(definition.json.add("PAIR_MISSING", f"there is no {other}", "name"))
    return findings


def _other_message(name: str, kind: str) -> str | None:
    if kind == "request" and name.endswith("Request"):
        return name.removesuffix("Request") + "Response"
    return name.removesuffix("Response") + "Request" if kind == "response" and name.endswith("Response") else None
