"""Rules of `kwire diagnose`: two files each, CODE.sql with the query and CODE.toml with the text.

Each row of the query is a finding. The query is one SELECT over the tables and views of `kwire_cli.facts`. The text
says how severe the finding is, which sentence the numbers of a row go into, what it means and what to do.
docs/findings.md explains both files, for those who write rules of their own.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""From the most severe one."""
FAMILIES = {
    "java": "apache-kafka-java",
    "librdkafka": "rdkafka",
    "franz-go": "kgo",
    "sarama": "sarama",
    "kafkajs": "kafkajs",
    "kafka-python": "kafka-python",
}
"""Families of clients, and the word in the software's name (KIP-511) that tells each one."""
_TEXTS = ("title", "severity", "subject", "text", "meaning")
_OF_CASES = frozenset({"text", "meaning", "advice", "see"})
_KEYS = {
    *_TEXTS,
    "rank",
    "see",
    "command",
    "apis",
    "errors",
    "anomalies",
    "explains",
    "last",
    "severity_when",
    "parameters",
    "advice",
    "cases",
    "finds",
    "misses",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its query and its text.

    `severity_when` are conditions over a row by severity, the first that holds decides. `rank` orders findings of one
    severity: causes (small numbers) before consequences. The rule runs only if one of `apis` was called (or is a
    kind of frames, such as sasl-token) and one of `errors` was answered; empty means always. If `anomalies` is true, it
    runs only if a frame has an anomaly. `explains` are the errors that a finding accounts for, and a rule that is
    `last` runs when all others have done so. `advice` is by family of clients, `any` for all. `cases`
    are texts by the column `in_case` of a row: its `meaning`, `advice` and `see` stand for those of the rule, and its
    `text` is the word `{case}` in that of the rule. `finds` and `misses` are
    captures for the tests: one in which the rule finds something, and a similar one in which it must not.
    """

    code: str
    query: str
    title: str
    severity: Severity
    subject: str
    text: str
    meaning: str
    advice: Mapping[str, str]
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
        """Return the rule with the texts of a case, or as it is if there is none."""
        said = self.cases.get(case or "")
        if said is None:
            return self
        return replace(
            self,
            text=self.text.replace("{case}", said.get("text", "")),
            meaning=said.get("meaning", self.meaning),
            advice={**self.advice, "any": said.get("advice", self.advice["any"])},
            see=tuple(said.get("see", self.see)),
        )

    @property
    def graded_query(self) -> str:
        """The query with a column `severity`."""
        grades = " ".join(f"when {test} then '{level}'" for level, test in self.severity_when.items())
        severity = f"case {grades} else '{self.severity}' end" if grades else f"'{self.severity}'"
        return f"select *, {severity} as severity from (\n{self.query}\n)"  # noqa: S608 - a rule is SQL


def read_rules(folder: Traversable) -> list[Rule]:
    """Return the rules in a folder, by code; those that are `last` at the end.

    Raises:
        InputError: A file cannot be read, or says something that a rule cannot say.

    """
    texts = {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
    queries = {file.name.removesuffix(".sql"): file for file in folder.iterdir() if file.name.endswith(".sql")}
    if alone := sorted(texts.keys() ^ queries.keys()):
        raise InputError(f"rule {alone[0]} needs two files, {alone[0]}.sql and {alone[0]}.toml", file=str(folder))
    rules = [_rule(code, queries[code], texts[code]) for code in sorted(texts)]
    return sorted(rules, key=lambda rule: rule.last)


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules that come with kwire."""
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
    if not all(isinstance(case, dict) and case.keys() <= _OF_CASES for case in cases.values()):
        raise InputError(f"rule {code}: a case has {', '.join(sorted(_OF_CASES))}", file=str(text))
    grades = said.get("severity_when", {})
    if said["severity"] not in SEVERITIES or not grades.keys() <= {*SEVERITIES}:
        raise InputError(f"rule {code}: a severity is error, warning or info", file=str(text))
    return Rule(
        code,
        sql.strip(),
        said["title"],
        said["severity"],
        said["subject"],
        said["text"],
        said["meaning"],
        advice,
        said.get("rank", 50),
        tuple(said.get("see", ())),
        said.get("command", ""),
        frozenset(said.get("apis", ())),
        frozenset(said.get("errors", ())),
        bool(said.get("anomalies", False)),
        tuple(said.get("explains", ())),
        bool(said.get("last", False)),
        grades,
        said.get("parameters", {}),
        said.get("finds", ""),
        said.get("misses", ""),
        cases,
    )
