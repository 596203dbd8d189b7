"""The question what is wrong, as a fold that runs all rules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.calls import Calls
from kwire_cli.analysis.diagnosis.limits import MOST_EVIDENCE
from kwire_cli.analysis.diagnosis.model import SEVERITIES, Finding, kind_of, takes
from kwire_cli.analysis.diagnosis.rules import RULES
from kwire_cli.analysis.subjects import LogItem
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.facts.memory import Tables
from kwire_cli.questions.diagnose import FACTS, findings as query_findings
from kwire_cli.questions.rule_files import rules as query_rules
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.traffic import TcpConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Rule, Severity
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.questions.diagnose import Row
    from kwire_cli.questions.rule_files import Rule as QueryRule
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem

COLUMNS = (
    Column("code"),
    Column("severity"),
    Column("subject"),
    Column("text"),
    Column("evidence", "list"),
    Column("meaning"),
    Column("advice"),
    Column("see", "list"),
    Column("command"),
)
_SHOWN_PLACES = 4
FRAMES = frozenset({"request", "response"})
"""Kinds of lines that make calls."""


class Diagnosis:
    """The findings of all rules in captures, request logs and log directories: a fold.

    Rules that are queries run over tables, which are filled beside the other rules in one pass. `queries` are these
    rules; by default those that come with kwire. `also` are other queries over the tables: `answers` has their rows by
    name when there are findings.
    """

    def __init__(
        self,
        redaction: Redaction,
        queries: Sequence[QueryRule] | None = None,
        also: Mapping[str, str] | None = None,
    ) -> None:
        self.rules: list[Rule] = [rule() for rule in RULES]
        self._queries = query_rules() if queries is None else queries
        self._redaction = redaction
        self._tables: Tables | None = None
        self._findings: list[Finding] | None = None
        self._also = also or {}
        self.answers: dict[str, list[dict[str, Any]]] = {}
        self.is_local = False
        self._calls = Calls()
        self._by_api: dict[str, list[Callable[[Call], None]]] = {}
        self._lines = [rule.line for rule in self.rules if takes(rule, "line")]
        self._connections = [rule.connection for rule in self.rules if takes(rule, "connection")]
        self._log_items = [rule.log_item for rule in self.rules if takes(rule, "log_item")]

    def add(self, subject: Subject) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        if not isinstance(subject, LogItem):
            self._tabulate(subject)
        if isinstance(subject, Captured):
            if subject.seen.plain is not None or subject.kind in FRAMES:
                for complete in self._calls.add(subject):
                    self._call(complete)
            else:
                for take_line in self._lines:
                    take_line(subject)
        elif isinstance(subject, LogItem):
            for take_item in self._log_items:
                take_item(subject)
        else:
            for call in self._calls.of(subject):
                self._call(call)
            if isinstance(subject, TcpConnection):
                for take_connection in self._connections:
                    take_connection(subject)

    def _call(self, call: Call) -> None:
        api = call.api
        takers = self._by_api.get(api)
        if takers is None:
            takers = self._takers(api)
        for take in takers:
            take(call)

    def _takers(self, api: str) -> list[Callable[[Call], None]]:
        rules = [rule for rule in self.rules if takes(rule, "call")]
        self._by_api[api] = [rule.call for rule in rules if not rule.apis or api in rule.apis]
        return self._by_api[api]

    def _finish(self) -> None:
        for call in self._calls.end():
            self._call(call)

    def _tabulate(self, subject: Subject) -> None:
        if self._tables is None:
            queries = [FACTS, *(rule.query for rule in self._queries), *self._also.values()]
            self._tables = Tables(self._redaction, queries)
        self._tables.add(subject)

    def _of_queries(self) -> list[Finding]:
        """Return the findings of the rules that are queries. The tables are gone afterwards."""
        if self._tables is None:
            return []
        try:
            self._tables.finish()
            self.is_local = self._tables.is_local
            findings = [_finding(row, is_local=self.is_local) for row in query_findings(self._tables, self._queries)]
            self.answers = {name: self._tables.rows(query) for name, query in self._also.items()}
            return findings
        finally:
            self._tables.close()

    def findings(self, least: Severity = "info") -> list[Finding]:
        """Return the findings, the most severe and the causes first, down to a severity."""
        if self._findings is None:
            self._finish()
            by_rules = [finding for rule in self.rules for finding in rule.findings()]
            self._findings = sorted([*self._of_queries(), *by_rules], key=_order)
        shown = SEVERITIES[: SEVERITIES.index(least) + 1]
        return [finding for finding in self._findings if finding.level in shown]

    def answer(self, least: Severity = "info", arguments: str = "INPUT") -> Answer:
        """Return the findings down to a severity; `found` says that one of them is an error.

        `arguments` are the inputs as they are typed, for the commands that findings name.
        """
        findings = self.findings(least)
        facts = Facts([*count_facts(findings)])
        table = Table("findings", COLUMNS, [row_of(finding) for finding in findings], wide=True)
        outline = Outline("", [*_items(findings, arguments)])
        blocks: list[Any] = [facts, table, outline]
        if not findings:
            blocks.append(Note("nothing found", "good"))
        return Answer("diagnosis", blocks, found=any(finding.level == "error" for finding in findings))


def count_facts(findings: Iterable[Finding], none: str = "") -> Iterator[Fact]:
    """Yield the number of findings by severity, as a map and in words for people: `none` if there are no findings."""
    levels = Counter(finding.level for finding in findings)
    counts = {level: levels[level] for level in SEVERITIES if levels[level]}
    yield Fact("findings", counts, "map", wide=True)
    texts = [counted(count, level, "info" if level == "info" else "") for level, count in counts.items()]
    if text := ", ".join(texts) or none:
        yield Fact("findings", text, spoken=True)


def _order(finding: Finding) -> tuple[Any, ...]:
    kind = finding.kind
    return SEVERITIES.index(finding.level), kind.rank, -finding.weight, kind.code, finding.subject, finding.text


def row_of(finding: Finding) -> tuple[Any, ...]:
    """Return a finding in COLUMNS."""
    kind = finding.kind
    evidence = [place.to_json() for place in _by_time(finding.evidence)[:MOST_EVIDENCE]]
    return (
        kind.code,
        finding.level,
        finding.subject,
        finding.text,
        evidence,
        kind.meaning,
        finding.advice,
        [*kind.see],
        finding.command,
    )


def _finding(row: Row, *, is_local: bool) -> Finding:
    """Return a finding of a rule that is a query."""
    evidence = [_evidence(place, is_local=is_local) for place in row.places]
    kind = kind_of(row.rule)
    return Finding(kind, row.subject, row.text, evidence, row.weight, row.severity, row.command, row.more_advice)


def _evidence(place: Mapping[str, Any], *, is_local: bool) -> Evidence:
    """Return a place of a row as evidence. The clock of a request log may have no known zone."""
    time = place["time"]
    line = place["line"]
    text = None if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}{'' if is_local else 'Z'}"
    frame = place["frame"] if line is None else None
    return Evidence(
        place["what"],
        text,
        frame,
        place["stream"],
        place["capture"],
        place["file"] or None,
        line,
        packet=place["packet"],
    )


def command_text(command: str, arguments: str) -> str:
    """Return the command of a finding as it is typed: of `groups --group a`, `kwire groups INPUT --group a`."""
    name, _, options = command.partition(" ")
    return f"kwire {name} {arguments} {options}".rstrip()


def _items(findings: Sequence[Finding], arguments: str) -> Iterator[Item]:
    """Yield the lines for people: a finding, what was seen, where, what it means and what to do."""
    said: set[tuple[str, str]] = set()
    for finding in findings:
        kind = finding.kind
        yield Item(0, f"{finding.level.upper()} {kind.code}", finding.subject, finding.level)
        yield Item(1, finding.text)
        if finding.evidence:
            yield Item(1, f"Evidence: {places(finding.evidence)}")
        if (kind.code, finding.advice) not in said:
            said.add((kind.code, finding.advice))
            yield Item(1, f"Meaning: {kind.meaning}")
            yield Item(1, f"Do: {finding.advice}")
        see = [*([command_text(finding.command, arguments)] if finding.command else []), *kind.see]
        if see:
            yield Item(1, f"See: {' · '.join(see)}")


def _by_time(evidence: Sequence[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=lambda place: (place.time or "", place.packet or 0))


def places(evidence: Sequence[Evidence]) -> str:
    """Return the places of evidence as text: `LeaveGroup request 88, 131; JoinGroup response 90`."""
    named: dict[str, list[str]] = {}
    for place in _by_time(evidence)[:_SHOWN_PLACES]:
        own = next((number for number in (place.frame, place.offset, place.line) if number is not None), None)
        at = next((number for number in (own, place.packet, place.stream) if number is not None), None)
        what = f"{place.what}, packet" if own is None and place.packet is not None else place.what
        named.setdefault(what, []).append("" if at is None else str(at))
    texts = [f"{what} {', '.join(filter(None, at))}".rstrip() for what, at in named.items()]
    more = len(evidence) - _SHOWN_PLACES
    is_all = len(evidence) != MOST_EVIDENCE  # of more places no more may be kept
    return "; ".join(texts) + (f"; and {f'{more} ' * is_all}more" if more > 0 else "")
