"""Conventions that Kafka's definitions keep and its generator does not ask for, reported as advice.

Which share of the definitions keeps each one is in docs/changes.md. A convention goes through a definition and yields
each place that it applies to, with the violation there, or with an empty string.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import Report, Spot, json_files, read_text
from kwire_cli.spec.rules import FATAL, LOADING, examine

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.spec.files import Finding
    from kwire_cli.spec.model import FieldSpec
    from kwire_cli.spec.reading import Definition

    Judged = Iterator[tuple[Spot, str]]

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


def _message_suffix(definition: Definition) -> Judged:
    suffix = SUFFIXES.get(definition.spec.type)
    name = definition.spec.name
    if suffix:
        yield (
            Spot().key("name"),
            "" if name.endswith(suffix) else f"the name of a {definition.spec.type} message ends in {suffix}",
        )


def _throttle_time(definition: Definition) -> Judged:
    if definition.spec.type == "response":
        has = any(item.spec.name == "ThrottleTimeMs" for item in definition.items)
        yield (
            Spot().key("fields"),
            "" if has else "a response says for how long its client is held back: ThrottleTimeMs, an int32",
        )


def _upper_camel(definition: Definition) -> Judged:
    for item in definition.walk():
        name = item.spec.name
        capital = _capital(name)
        yield (
            item.json.spot.key("name"),
            "" if name == capital else f"the name of a field begins with a capital letter: {capital}",
        )


def _plural(definition: Definition) -> Judged:
    for item in definition.walk():
        if item.spec.is_array:
            words = _words(item.spec.name)
            yield (
                item.json.spot.key("name"),
                "" if any(word.endswith("s") for word in words) else "the name of an array is a plural elsewhere",
            )


def _error_names(definition: Definition) -> Judged:
    for item in definition.walk():
        field = item.spec
        if "error" in field.name.lower() and field.type in {"int8", "int16", "int32", "int64", "string"}:
            wanted = ("ErrorMessage", "string") if field.type == "string" else ("ErrorCode", "int16")
            kept = _capital(field.name).endswith(wanted[0]) and field.type == wanted[1]
            yield (
                item.json.spot,
                ""
                if kept
                else (
                    f"an error is ErrorCode, an int16, and its text ErrorMessage, a string; this is {field.name}, "
                    f"{field.type}"
                ),
            )


def _unit_of_time(definition: Definition) -> Judged:
    for item in definition.walk():
        field = item.spec
        if field.element_type in {"int32", "int64"} and _SPAN.search(field.name):
            yield (
                item.json.spot.key("name"),
                "" if field.name.endswith("Ms") else f"the name of a span of time ends in its unit: {field.name}Ms",
            )


def _usual_type(definition: Definition) -> Judged:
    for item in definition.walk():
        usual = USUAL_TYPES.get(_capital(item.spec.name))
        if usual and not item.spec.is_array and not item.spec.struct_name:
            wider = _wider(item.spec, usual)
            said = f"{item.spec.name} is {_article(usual)} elsewhere, not {_article(item.spec.type)}{wider}"
            yield item.json.spot.key("type"), "" if item.spec.type == usual else said


def _entity(definition: Definition) -> Judged:
    if definition.spec.type not in {"request", "response"}:
        return
    for item in definition.walk():
        for entity, (names, kind) in ENTITIES.items():
            if names.fullmatch(item.spec.name) and item.spec.element_type == kind:
                yield (
                    item.json.spot,
                    ""
                    if item.spec.entity_type == entity
                    else f"{item.spec.name} has the entityType {entity} elsewhere",
                )


CONVENTIONS: dict[str, Callable[[Definition], Judged]] = {
    "NAME_MESSAGE_SUFFIX": _message_suffix,
    "NAME_LOWER_CASE": _upper_camel,
    "NAME_ARRAY_SINGULAR": _plural,
    "NAME_ERROR": _error_names,
    "NAME_WITHOUT_UNIT": _unit_of_time,
    "TYPE_UNUSUAL": _usual_type,
    "ENTITY_TYPE_MISSING": _entity,
    "THROTTLE_TIME_MISSING": _throttle_time,
}
"""Conventions by rule id."""


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
    report = Report(of.file, of.text, of.base)
    for rule, judge in CONVENTIONS.items():
        for spot, wrong in judge(definition):
            if wrong:
                report.add(rule, wrong, spot)
    advice = [finding._replace(severity="advice") for finding in report.findings]
    return sorted(advice, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))


def _words(name: str) -> list[str]:
    return _WORDS.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'iu' and not kind.startswith('uuid') else 'a'} {kind}"


def _wider(field: FieldSpec, usual: str) -> str:
    widths = [int(digits) if (digits := kind.lstrip("uint")).isdigit() else 0 for kind in (field.type, usual)]
    more = (widths[0] - widths[1]) // 8
    return f": {more} byte{'' if more == 1 else 's'} more each time" if widths[1] and more > 0 else ""
