"""The types of the diagnosis: kinds of findings with their documentation, findings, and rules in Python.

Most rules are SQL queries (see `questions/rule_files.py`). The rules in Python are about batches of log directories,
which are too many for tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.facts.memory import Tables
    from kwire_cli.questions.rule_files import Rule as QueryRule, Severity


class FindingKind(NamedTuple):
    """A kind of finding, with its documentation.

    `meaning` describes the problem and `advice` the remedy. `see` lists KIPs and settings. `rank` orders findings of
    one severity: causes (small numbers) come before consequences. `advice_by_client` contains pairs of a family of
    clients and additional advice for it.
    """

    code: str
    severity: Severity
    title: str
    meaning: str
    advice: str
    see: tuple[str, ...] = ()
    rank: int = 50
    advice_by_client: tuple[tuple[str, str], ...] = ()


def kind_of(rule: QueryRule) -> FindingKind:
    """Return the kind of the findings of a rule that is a query."""
    by_client = tuple((family, text) for family, text in rule.advice.items() if family != "any")
    return FindingKind(
        rule.code, rule.severity, rule.title, rule.meaning, rule.advice["any"], rule.see, rule.rank, by_client
    )


class Finding(NamedTuple):
    """A finding: its kind, its subject, a sentence with numbers, and the evidence.

    `weight` orders findings of one kind, the largest first. `command` is a kwire command that shows details, without
    the inputs, such as `groups --group billing`. `more_meaning` and `more_advice` follow the texts of the kind.
    """

    kind: FindingKind
    subject: str
    text: str
    evidence: Sequence[Evidence] = ()
    weight: float = 0.0
    severity: Severity | None = None
    command: str = ""
    more_meaning: str = ""
    more_advice: str = ""

    @property
    def meaning(self) -> str:
        """The meaning of the kind, and what is particular to this finding."""
        return f"{self.kind.meaning} {self.more_meaning}".rstrip()

    @property
    def advice(self) -> str:
        """The remedy, with additional advice for this finding and for the software of this client."""
        return f"{self.kind.advice} {self.more_advice}".rstrip()

    @property
    def level(self) -> Severity:
        """The severity of the finding if it has its own, else the severity of the kind."""
        return self.severity or self.kind.severity


class Rule:
    """A rule in Python. It receives batches of logs one by one, and queries the tables of traffic in the end.

    `queries` lists the queries that `ask` runs. The memory of a rule must not grow with the size of the logs.
    """

    KINDS: ClassVar[tuple[FindingKind, ...]] = ()
    queries: ClassVar[tuple[str, ...]] = ()

    def log_item(self, item: LogItem, /) -> None:
        """Process a batch of a log directory, or a gap."""

    def ask(self, tables: Tables, /) -> None:
        """Run the queries on the tables of traffic, and process their rows."""

    def findings(self) -> Iterator[Finding]:
        """Yield the findings."""
        raise NotImplementedError
