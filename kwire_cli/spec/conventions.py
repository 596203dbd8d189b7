"""Conventions that Kafka's definitions keep and its generator does not ask for, reported as advice.

Which share of the definitions keeps each one is in docs/changes.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import Report, Spot, json_files, read_text
from kwire_cli.spec.rules import FATAL, LOADING, examine

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.spec.files import Finding
    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.reading import Definition

SUFFIXES = {"metadata": "Record", "coordinator-key": "Key", "coordinator-value": "Value", "header": "Header"}
"""What the names of messages end in, by type; requests and responses are the rule books' business."""


USUAL_TYPES = {
    "ErrorCode": "int16",
    "ErrorMessage": "string",
    "ThrottleTimeMs": "int32",
    "TimeoutMs": "int32",
    "TopicId": "uuid",
    "TopicName": "string",
    "Topic": "string",
    "Name": "string",
    "PartitionIndex": "int32",
    "Partition": "int32",
    "LeaderEpoch": "int32",
    "LeaderId": "int32",
    "BrokerId": "int32",
    "NodeId": "int32",
    "ControllerId": "int32",
    "VoterId": "int32",
    "BrokerEpoch": "int64",
    "GroupId": "string",
    "GroupInstanceId": "string",
    "MemberId": "string",
    "MemberEpoch": "int32",
    "SubtopologyId": "string",
    "ProducerId": "int64",
    "ProducerEpoch": "int16",
    "TransactionalId": "string",
    "StartOffset": "int64",
    "FirstOffset": "int64",
    "LastOffset": "int64",
    "ClusterId": "string",
    "ClientId": "string",
    "Host": "string",
    "Rack": "string",
    "RackId": "string",
    "ResourceType": "int8",
    "ResourceName": "string",
}
"""Fields that occur at least 8 times in the definitions of Kafka 4.4, and 9 of 10 times or more with this type. A wider
one costs bytes each time."""

ENTITIES = {
    "brokerId": (re.compile(r"(Broker|Leader|Replica|Controller|Node)Id"), "int32"),
    "topicName": (re.compile(r"Topic|TopicName"), "string"),
    "groupId": (re.compile(r"GroupId"), "string"),
    "transactionalId": (re.compile(r"TransactionalId"), "string"),
    "producerId": (re.compile(r"ProducerId"), "int64"),
}
"""The entityType of fields of these names and types in requests and responses."""

_SPAN = re.compile(r"(Time|Timeout|Interval|Duration|Backoff|Lifetime|Period|Delay|Deadline)(?![a-z])")
_WORDS = re.compile(r"[A-Za-z][a-z0-9]*")


class Convention(NamedTuple):
    """A convention: its violation in a sentence, the key that it is about ("" for the whole object), and its judge.

    `judge` returns the violation, "" if a message or field keeps the convention, or None if it does not apply.
    """

    summary: str
    key: str
    judge: Callable[..., str | None]


def _message_suffix(spec: MessageSpec) -> str | None:
    suffix = SUFFIXES.get(spec.type)
    if not suffix:
        return None
    return "" if spec.name.endswith(suffix) else f"the name of a {spec.type} message ends in {suffix}"


def _throttle_time(spec: MessageSpec) -> str | None:
    if spec.type != "response":
        return None
    has = any(field.name == "ThrottleTimeMs" for field in spec.fields)
    return "" if has else "a response says for how long its client is held back: ThrottleTimeMs, an int32"


def _upper_camel(field: FieldSpec, _: MessageSpec) -> str:
    capital = _capital(field.name)
    return "" if field.name == capital else f"the name of a field begins with a capital letter: {capital}"


def _plural(field: FieldSpec, _: MessageSpec) -> str | None:
    if not field.is_array:
        return None
    words = _WORDS.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", field.name))
    return "" if any(word.endswith("s") for word in words) else "the name of an array is a plural elsewhere"


def _error_names(field: FieldSpec, _: MessageSpec) -> str | None:
    if "error" not in field.name.lower() or field.type not in {"int8", "int16", "int32", "int64", "string"}:
        return None
    name, kind = ("ErrorMessage", "string") if field.type == "string" else ("ErrorCode", "int16")
    if _capital(field.name).endswith(name) and field.type == kind:
        return ""
    rule = "an error is ErrorCode, an int16, and its text ErrorMessage, a string"
    return f"{rule}; this is {field.name}, {field.type}"


def _unit_of_time(field: FieldSpec, _: MessageSpec) -> str | None:
    if field.element_type not in {"int32", "int64"} or not _SPAN.search(field.name):
        return None
    return "" if field.name.endswith("Ms") else f"the name of a span of time ends in its unit: {field.name}Ms"


def _usual_type(field: FieldSpec, _: MessageSpec) -> str | None:
    usual = USUAL_TYPES.get(_capital(field.name))
    if not usual or field.is_array or field.struct_name:
        return None
    if field.type == usual:
        return ""
    return f"{field.name} is {_article(usual)} elsewhere, not {_article(field.type)}{_wider(field, usual)}"


def _entity(field: FieldSpec, spec: MessageSpec) -> str | None:
    for entity, (names, kind) in ENTITIES.items():
        if spec.type in {"request", "response"} and names.fullmatch(field.name) and field.element_type == kind:
            return "" if field.entity_type == entity else f"{field.name} has the entityType {entity} elsewhere"
    return None


ON_MESSAGES = {
    "NAME_MESSAGE_SUFFIX": Convention(
        "The name of a metadata message, coordinator-key, coordinator-value or header does not end in Record, Key, "
        "Value, Header.",
        "name",
        _message_suffix,
    ),
    "THROTTLE_TIME_MISSING": Convention("A response has no ThrottleTimeMs.", "fields", _throttle_time),
}
"""Conventions of messages by rule id."""
ON_FIELDS = {
    "NAME_LOWER_CASE": Convention("A field's name begins with a small letter.", "name", _upper_camel),
    "NAME_ARRAY_SINGULAR": Convention("The name of an array has no word in the plural.", "name", _plural),
    "NAME_ERROR": Convention(
        "An error is not an int16 called ErrorCode, or its text is not a string called ErrorMessage (or with these "
        "endings).",
        "",
        _error_names,
    ),
    "NAME_WITHOUT_UNIT": Convention(
        "The name of a number that is a span of time lacks the unit, milliseconds (TimeoutMs).", "name", _unit_of_time
    ),
    "TYPE_UNUSUAL": Convention(
        "A field of a name that has the same type nearly everywhere, such as PartitionIndex, has another one; a wider "
        "one costs bytes.",
        "type",
        _usual_type,
    ),
    "ENTITY_TYPE_MISSING": Convention(
        "A broker, topic, group, transaction or producer in a request or response has no entityType.", "", _entity
    ),
}
"""Conventions of fields by rule id."""
CONVENTIONS = ON_MESSAGES | ON_FIELDS


def judged(definition: Definition) -> Iterator[tuple[str, Spot, str]]:
    """Yield each place of a definition that a convention applies to, with the violation there, "" if there is none."""
    spec = definition.spec
    for rule, (_, key, judge) in ON_MESSAGES.items():
        if (wrong := judge(spec)) is not None:
            yield rule, Spot().key(key), wrong
    for item in definition.walk():
        for rule, (_, key, judge) in ON_FIELDS.items():
            if (wrong := judge(item.spec, spec)) is not None:
                yield rule, item.json.spot.key(key) if key else item.json.spot, wrong


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
    """Return advice for each place where a definition does not keep a convention."""
    definition, findings = examine(text, file, LOADING)
    if definition is None or any(finding.rule in FATAL for finding in findings):
        return []
    of = definition.json.report
    report = Report(of.file, of.text)
    for rule, spot, wrong in judged(definition):
        if wrong:
            report.add(rule, wrong, spot)
    advice = [finding._replace(severity="advice") for finding in report.findings]
    return sorted(advice, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'iu' and not kind.startswith('uuid') else 'a'} {kind}"


def _wider(field: FieldSpec, usual: str) -> str:
    widths = [int(digits) if (digits := kind.lstrip("uint")).isdigit() else 0 for kind in (field.type, usual)]
    more = (widths[0] - widths[1]) // 8
    return f": {more} byte{'' if more == 1 else 's'} more each time" if widths[1] and more > 0 else ""
