"""Parts of the diagnosis: kinds of findings with their documentation, findings, and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kwire_cli.questions.rule_files import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.facts.memory import Tables
    from kwire_cli.questions.rule_files import Rule as QueryRule, Severity


class FindingKind(NamedTuple):
    """A kind of finding, with its documentation.

    `meaning` says what has happened, `advice` what to do about it; `see` names KIPs and settings. `rank` orders
    findings of one severity: causes (small numbers) before what follows from them. `advice_by_client` are pairs of a
    family of clients and what to do there besides.
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


def kind_of_query(code: str) -> FindingKind:
    """Return the kind of a rule that is a query, for findings of the same kind in log directories."""
    return next(kind_of(rule) for rule in rules() if rule.code == code)


class Finding(NamedTuple):
    """A finding: its kind, what it is about, what was seen in numbers, and where.

    `weight` orders findings of one kind: the larger first. `command` is what shows more, without the inputs, such as
    `groups --group billing`. `more_advice` is for the software of this client.
    """

    kind: FindingKind
    subject: str
    text: str
    evidence: Sequence[Evidence] = ()
    weight: float = 0.0
    severity: Severity | None = None
    command: str = ""
    more_advice: str = ""

    @property
    def advice(self) -> str:
        """What to do."""
        return f"{self.kind.advice} {self.more_advice}".rstrip()

    @property
    def level(self) -> Severity:
        """The severity: that of the kind, unless the finding has its own."""
        return self.severity or self.kind.severity


class Rule:
    """A rule that is no query: it takes batches of logs one by one, and what it needs of the tables about traffic.

    `queries` are those that it asks. What it keeps of logs is bounded.
    """

    KINDS: ClassVar[tuple[FindingKind, ...]] = ()
    queries: ClassVar[tuple[str, ...]] = ()

    def log_item(self, item: LogItem, /) -> None:
        """Take a batch of a log directory, or a gap."""

    def ask(self, tables: Tables, /) -> None:
        """Take what the queries say about traffic."""

    def findings(self) -> Iterator[Finding]:
        """Yield what was found."""
        raise NotImplementedError
