"""Parts of the diagnosis: kinds of findings with their documentation, findings, and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kwire_cli.analysis.subjects import Bounded, LogItem
from kwire_cli.questions.rule_files import SEVERITIES, Severity, rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.questions.rule_files import Rule as QueryRule
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

__all__ = [
    "SEVERITIES",
    "Bounded",
    "Finding",
    "FindingKind",
    "LogItem",
    "Rule",
    "Severity",
    "kind_of",
    "kind_of_query",
    "takes",
]


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
    """A rule: it takes in what it looks at, and finds in the end.

    A rule defines the methods whose subjects it looks at, and no others. `apis` are the apis whose calls it takes; all
    calls if empty. Its state is bounded, and has no frames in it. Calls come when they are answered, those without an
    answer when their connection ends, and connections behind their calls.
    """

    KINDS: ClassVar[tuple[FindingKind, ...]] = ()
    apis: ClassVar[frozenset[str]] = frozenset()

    def call(self, call: Call, /) -> None:
        """Take a request with its response. Never raises, whatever the bodies hold."""

    def line(self, line: Captured, /) -> None:
        """Take a line of a capture that is neither a request nor a response: a token, another protocol, a gap."""

    def connection(self, connection: TcpConnection, /) -> None:
        """Take a TCP connection that has ended."""

    def log_item(self, item: LogItem, /) -> None:
        """Take a batch of a log directory, or a gap."""

    def findings(self) -> Iterator[Finding]:
        """Yield what was found."""
        raise NotImplementedError


def takes(rule: Rule, method: str) -> bool:
    """Return whether a rule defines one of the methods that take subjects."""
    return getattr(type(rule), method) is not getattr(Rule, method)
