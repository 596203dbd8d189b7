"""The diagnosis: a fold over inputs that runs all rules, and the answer with the findings.

Traffic goes into tables, over which the rules in SQL run once in the end. Batches of logs go to the rules in Python one
by one.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import TableFold, evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, kind_of
from kwire_cli.analysis.diagnosis.rules import RULES
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.questions.diagnose import FACTS, findings as query_findings
from kwire_cli.questions.rule_files import SEVERITIES, rules as query_rules
from kwire_cli.questions.traffic import EXPORT_ALL, without
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.opening import LakeInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.diagnosis.model import Rule
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.questions.diagnose import Row
    from kwire_cli.questions.rule_files import Rule as QueryRule, Severity
    from kwire_cli.source.reading import Opened

COLUMNS = (
    Column("code"),
    Column("severity"),
    Column("subject"),
    Column("text"),
    Column("evidence", "list"),
    Column("meaning", wide=True),
    Column("advice", wide=True),
    Column("see", "list", wide=True),
    Column("command", wide=True),
)
MOST_EVIDENCE = 10
"""Maximum number of places in the evidence of a finding."""
_SHOWN_PLACES = 4


class Diagnosis(TableFold):
    """A fold that finds problems in captures, request logs and log directories.

    `queries` are the rules in SQL, by default those that come with kwire. `also` contains further queries over the
    tables. They run with the `parameters`, together with the rules, and `answers` contains their rows by name.
    """

    takes_partial_lakes = True

    def __init__(
        self,
        redaction: Redaction,
        queries: Sequence[QueryRule] | None = None,
        also: Mapping[str, str] | None = None,
    ) -> None:
        self.rules: list[Rule] = [rule() for rule in RULES]
        self._query_rules = query_rules() if queries is None else queries
        self._also = also or {}
        own = chain.from_iterable(rule.queries for rule in self.rules)
        of_rules = {rule.code: rule.query for rule in self._query_rules}
        replays = {f"replay {number}": query for number, query in enumerate(own)}
        super().__init__(redaction, {"facts": FACTS, **of_rules, **replays, **self._also}, REPLAYED)
        self._findings: list[Finding] | None = None
        self._unread: list[str] = []
        """The reasons why inputs were not read completely."""
        self.answers: dict[str, list[dict[str, Any]]] = {}
        self.parameters: dict[str, Any] = {}

    def log_item(self, item: LogItem) -> None:
        """Process a batch of a log, or a gap."""
        super().log_item(item)
        for rule in self.rules:
            rule.log_item(item)

    def end_input(self, opened: Opened) -> None:
        """Store the reasons why an input was not read completely."""
        if isinstance(opened, CaptureInput):
            self._unread += [f"{opened.label}: {notice.text}" for _, notice in opened.notices]
        elif isinstance(opened, LakeInput) and self.lacking:
            self._unread.append(f"{opened.label}: {without(self.lacking)}; {EXPORT_ALL}")

    def _findings_in_traffic(self) -> Iterator[Finding]:
        """Yield the findings of the rules in SQL, and run the queries of the other rules. Then close the tables."""
        with self.filled() as tables:
            if tables is None:
                return
            for row in query_findings(tables, self._query_rules):
                yield _finding(row)
            for rule in self.rules:
                rule.ask(tables)
            self.answers = {name: tables.rows(query, self.parameters) for name, query in self._also.items()}

    def findings(self, least: Severity = "info") -> list[Finding]:
        """Return the findings, the most severe and the causes first, down to a severity."""
        if self._findings is None:
            found = list(self._findings_in_traffic())
            for rule in self.rules:
                found += rule.findings()
            self._findings = sorted(found, key=_order)
        shown = SEVERITIES[: SEVERITIES.index(least) + 1]
        return [finding for finding in self._findings if finding.level in shown]

    def answer(self, least: Severity = "info", arguments: str = "INPUT") -> Answer:
        """Return the findings down to a severity. `found` is set if a finding is an error.

        `arguments` are the inputs on the command line, for the commands in findings.
        """
        findings = self.findings(least)
        facts = Facts([*count_facts(findings)])
        table = Table("findings", COLUMNS, [row_of(finding) for finding in findings], wide=True)
        outline = Outline("", [*_items(findings, arguments)])
        blocks: list[Any] = [facts, table, outline]
        unread = [*self._unread]
        if faults := self.faults.total():
            unread.append(counted(faults, "line of a request log", "lines of request logs"))
        blocks += [Note(f"a part was not read: {text}", "warning") for text in unread]
        if not findings:
            blocks.append(Note("nothing found in the rest") if unread else Note("nothing found", "good"))
        return Answer("diagnosis", blocks, found=any(finding.level == "error" for finding in findings))


def count_facts(findings: Iterable[Finding], none: str = "") -> Iterator[Fact]:
    """Yield the number of findings by severity, as a map and in words. The words are `none` without findings."""
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
    """Return a finding as a row of COLUMNS."""
    kind = finding.kind
    evidence = [place.to_json() for place in _by_time(finding.evidence)[:MOST_EVIDENCE]]
    return (
        kind.code,
        finding.level,
        finding.subject,
        finding.text,
        evidence,
        finding.meaning,
        finding.advice,
        [*kind.see],
        finding.command,
    )


def _finding(row: Row) -> Finding:
    """Return the finding of a row of a rule in SQL."""
    return Finding(
        kind_of(row.rule),
        row.subject,
        row.text,
        [evidence_of(place) for place in row.places],
        row.weight,
        row.severity,
        row.command,
        row.more_meaning,
        row.more_advice,
    )


def command_text(command: str, arguments: str) -> str:
    """Return the complete command of a finding: `kwire groups INPUT --group a` for `groups --group a`."""
    name, _, options = command.partition(" ")
    return f"kwire {name} {arguments} {options}".rstrip()


def _items(findings: Sequence[Finding], arguments: str) -> Iterator[Item]:
    """Yield the lines of the outline: each finding with its evidence, its meaning and the advice.

    The meaning and the advice appear only with the first finding that has them.
    """
    explained: set[tuple[str, str, str]] = set()
    for finding in findings:
        kind = finding.kind
        yield Item(0, f"{finding.level.upper()} {kind.code}", finding.subject, finding.level)
        yield Item(1, finding.text)
        if finding.evidence:
            yield Item(1, f"Evidence: {places(finding.evidence)}")
        if (kind.code, finding.meaning, finding.advice) not in explained:
            explained.add((kind.code, finding.meaning, finding.advice))
            yield Item(1, f"Meaning: {finding.meaning}")
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
    is_all = len(evidence) != MOST_EVIDENCE  # at the maximum, further places may have been dropped
    return "; ".join(texts) + (f"; and {f'{more} ' * is_all}more" if more > 0 else "")
