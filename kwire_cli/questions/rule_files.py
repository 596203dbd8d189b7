"""Rules of `kwire diagnose`: two files each, CODE.sql with the query and CODE.toml with the text.

Each row of the query is a finding. The query is one SELECT over the tables and views of `kwire_cli.facts`. The text
contains the severity, the template of the sentence with the numbers of a row, the meaning, and the advice.
docs/findings.md documents both files for users who write rules.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The severities, the most severe first."""
FAMILIES = {
    "java": "apache-kafka-java",
    "librdkafka": "rdkafka",
    "franz-go": "kgo",
    "sarama": "sarama",
    "kafkajs": "kafkajs",
    "kafka-python": "kafka-python",
}
"""Families of clients, and the word in the software name (KIP-511) that identifies each family."""
_TEXTS = ("title", "severity", "subject", "text", "meaning")
_OF_CASES = ("meaning", "advice", "settings", "see", "rank")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its query and its text.

    Attributes:
        severity_when: Conditions over a row by severity. The first condition that holds determines the severity.
        rank: The order of findings of one severity: causes (small numbers) come before consequences.
        apis: The rule runs only if the input has a call of one of these apis, or a frame of one of these kinds (such
            as sasl-token). Empty means always.
        errors: The rule runs only if a response has one of these errors. Empty means always.
        anomalies: If true, the rule runs only if a frame has an anomaly.
        explains: The errors that a finding of the rule explains.
        last: Whether the rule runs after all other rules, so that explained errors are known.
        advice: The advice by family of clients, with `any` for all clients.
        cases: Texts by the value of the column `in_case` of a row. The `meaning`, `advice`, `settings`, `see` and
            `rank` of a case replace the same keys of the rule.
        settings: Settings of the Java client. The advice for a family of clients lists their names in this family.
        finds: A capture for the tests in which the rule has a finding.
        misses: A similar capture in which the rule must not have a finding.

    """

    code: str
    query: str
    title: str
    severity: Severity
    subject: str
    text: str
    meaning: str
    advice: Mapping[str, str]
    settings: tuple[str, ...] = ()
    rank: int = 50
    see: tuple[str, ...] = ()
    command: str = ""
    apis: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    anomalies: bool = False
    explains: tuple[str, ...] = ()
    last: bool = False
    severity_when: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    finds: str = ""
    misses: str = ""
    cases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def in_case(self, case: str | None) -> Rule:
        """Return the rule for rows of a case, with the texts of the case. Return the rule itself for other cases."""
        texts = self.cases.get(case or "")
        if texts is None:
            return self
        return replace(
            self,
            meaning=texts.get("meaning", self.meaning),
            advice={"any": texts["advice"]} if "advice" in texts else self.advice,
            settings=texts.get("settings", () if "advice" in texts else self.settings),
            see=tuple(texts.get("see", self.see)),
            rank=texts.get("rank", self.rank),
        )

    def case_texts(self) -> Iterator[tuple[str, str]]:
        """Yield each case with its own texts."""
        for case, texts in self.cases.items():
            advice = f"What to do: {texts['advice']}" if "advice" in texts else ""
            see = f"See {', '.join(texts['see'])}." if "see" in texts else ""
            yield case.replace("_", " "), " ".join(filter(None, (texts.get("meaning"), advice, see)))

    def advice_by_family(self) -> dict[str, str]:
        """Return the advice for families of clients, in addition to the advice for all clients."""
        texts = {}
        for family in FAMILIES:
            words = filter(None, (self.advice.get(family), settings_text(self.settings, family)))
            texts[family] = " ".join(words)
        return {family: text for family, text in texts.items() if text}

    @property
    def graded_query(self) -> str:
        """The query with a column `severity`."""
        grades = " ".join(f"when {test} then '{level}'" for level, test in self.severity_when.items())
        severity = f"case {grades} else '{self.severity}' end" if grades else f"'{self.severity}'"
        return f"select *, {severity} as severity from (\n{self.query}\n)"  # noqa: S608 - a rule is SQL


_KEYS = {each.name for each in fields(Rule)} - {"code", "query"}


def read_rules(folder: Traversable) -> list[Rule]:
    """Return the rules in a folder, sorted by code. Rules with `last` are at the end.

    Raises:
        InputError: A file cannot be read, or has unknown keys or invalid values.

    """
    texts = {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
    queries = {file.name.removesuffix(".sql"): file for file in folder.iterdir() if file.name.endswith(".sql")}
    if alone := sorted(texts.keys() ^ queries.keys()):
        raise InputError(f"rule {alone[0]} needs two files, {alone[0]}.sql and {alone[0]}.toml", file=str(folder))
    rules = [_rule(code, queries[code], texts[code]) for code in sorted(texts)]
    return sorted(rules, key=lambda rule: rule.last)


@cache
def _names_of_settings() -> Mapping[str, Mapping[str, str]]:
    text = (files("kwire_cli.questions") / "settings.toml").read_text("utf-8")
    return tomllib.loads(text)


def settings_text(settings: Iterable[str], family: str) -> str:
    """Return the sentence that lists settings of the Java client by their names in a family of clients."""
    usual = {name: name.replace(".", "_") if family == "kafka-python" else name for name in settings}
    known = _names_of_settings()
    names = [*filter(None, (known.get(name, {}).get(family, text) for name, text in usual.items()))]
    return f"Setting{'s' * (len(names) > 1)}: {', '.join(names)}." if names else ""


@cache
def rules() -> tuple[Rule, ...]:
    """Return the built-in rules."""
    return tuple(read_rules(files("kwire_cli.questions") / "rules"))


def _rule(code: str, query: Traversable, text: Traversable) -> Rule:
    try:
        said = tomllib.loads(text.read_text("utf-8"))
        sql = query.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"rule {code}: {error}", file=str(text)) from error
    if unknown := sorted(said.keys() - _KEYS):
        raise InputError(f"rule {code}: unknown key {unknown[0]}", file=str(text))
    if missing := [key for key in _TEXTS if not isinstance(said.get(key), str)]:
        raise InputError(f"rule {code}: {missing[0]} is missing, or no text", file=str(text))
    advice = said.get("advice", {})
    if not isinstance(advice, dict) or "any" not in advice or not advice.keys() <= {"any", *FAMILIES}:
        names = ", ".join(FAMILIES)
        raise InputError(f"rule {code}: [advice] has a text `any`, and texts for {names}", file=str(text))
    cases = said.get("cases", {})
    if not all(isinstance(case, dict) and case.keys() <= {*_OF_CASES} for case in cases.values()):
        raise InputError(f"rule {code}: a case has {', '.join(_OF_CASES)}", file=str(text))
    grades = said.get("severity_when", {})
    if said["severity"] not in SEVERITIES or not grades.keys() <= {*SEVERITIES}:
        raise InputError(f"rule {code}: a severity is error, warning or info", file=str(text))
    values = said | {name: frozenset(said[name]) for name in ("apis", "errors") if name in said}
    values |= {name: tuple(said[name]) for name in ("see", "explains", "settings") if name in said}
    return Rule(code, sql.strip(), **{"advice": {}, **values})
