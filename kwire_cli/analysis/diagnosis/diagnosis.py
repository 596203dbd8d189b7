"""The diagnosis: a fold over inputs that runs all rules, and the answer with the findings.

Traffic goes into tables, and replays add tables about groups, transactions and logs. The rules are queries over these
tables. They run once in the end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import TableFold, evidence_of
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.questions.diagnose import FACTS, findings as findings_in
from kwire_cli.questions.rule_files import SEVERITIES, rules as all_rules
from kwire_cli.questions.traffic import EXPORT_ALL, without
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.opening import LakeInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.questions.diagnose import Finding
    from kwire_cli.questions.rule_files import Rule, Severity
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
    """A fold that finds problems in captures, request logs, log directories and lakes.

    `rules` are by default those that come with kwire. `also` contains further queries over the tables. They run with
    the `parameters`, together with the rules, and `answers` contains their rows by name.
    """

    takes_partial_lakes = True

    def __init__(
        self,
        redaction: Redaction,
        rules: Sequence[Rule] | None = None,
        also: Mapping[str, str] | None = None,
    ) -> None:
        self._rules = all_rules() if rules is None else rules
        self._also = also or {}
        of_rules = {rule.code: rule.query for rule in self._rules}
        super().__init__(redaction, {"facts": FACTS, **of_rules, **self._also}, REPLAYED)
        self._findings: list[Finding] | None = None
        self._unread: list[str] = []
        """The reasons why inputs were not read completely."""
        self.answers: dict[str, list[dict[str, Any]]] = {}
        self.parameters: dict[str, Any] = {}

    def end_input(self, opened: Opened) -> None:
        """Store the reasons why an input was not read completely."""
        if isinstance(opened, CaptureInput):
            self._unread += [f"{opened.label}: {notice.text}" for _, notice in opened.notices]
        elif isinstance(opened, LakeInput) and opened.lacking:
            self._unread.append(f"{opened.label}: {without(opened.lacking)}; {EXPORT_ALL}")

    def _run_rules(self) -> Iterator[Finding]:
        """Yield the findings, and run the other queries. Then close the tables."""
        with self.filled() as tables:
            if tables is not None:
                yield from findings_in(tables, self._rules)
                self.answers = {name: tables.rows(query, self.parameters) for name, query in self._also.items()}

    def findings(self, least: Severity = "info") -> list[Finding]:
        """Return the findings, the most severe and the causes first, down to a severity."""
        if self._findings is None:
            self._findings = sorted(self._run_rules(), key=_order)
        shown = SEVERITIES[: SEVERITIES.index(least) + 1]
        return [finding for finding in self._findings if finding.severity in shown]

    def _hidden(self, least: Severity) -> str:
        """Return the number of findings below a severity in words; empty if there are none."""
        shown = SEVERITIES[: SEVERITIES.index(least) + 1]
        _, *words = count_facts(finding for finding in self.findings() if finding.severity not in shown)
        return words[0].value if words else ""

    def _unread_parts(self) -> list[str]:
        if faults := self.faults.total():
            return [*self._unread, counted(faults, "line of a request log", "lines of request logs")]
        return self._unread

    def nothing_found(self) -> str:
        """Return the sentence for inputs without findings. It is only about the parts that were read."""
        return f"nothing found{' in the part that was read' if self._unread_parts() else ''}"

    def answer(self, least: Severity = "info", arguments: str = "INPUT") -> Answer:
        """Return the findings down to a severity. `found` is set if a finding is an error.

        `arguments` are the inputs on the command line, for the commands in findings.
        """
        findings = self.findings(least)
        facts = Facts([*count_facts(findings)])
        table = Table("findings", COLUMNS, [row_of(finding) for finding in findings], wide=True)
        outline = Outline("", [*_items(findings, arguments)])
        blocks: list[Any] = [facts, table, outline]
        blocks += [Note(f"a part was not read: {text}", "warning") for text in self._unread_parts()]
        blocks += self.dropped_notes()
        if not findings:
            if hidden := self._hidden(least):
                blocks.append(Note(f"nothing as severe as {least}; less severe: {hidden}", "info"))
            else:
                blocks.append(Note(self.nothing_found(), "" if self._unread_parts() else "good"))
        return Answer("diagnosis", blocks, found=any(finding.severity == "error" for finding in findings))


def count_facts(findings: Iterable[Finding], none: str = "") -> Iterator[Fact]:
    """Yield the number of findings by severity, as a map and in words. The words are `none` without findings."""
    levels = Counter(finding.severity for finding in findings)
    counts = {level: levels[level] for level in SEVERITIES if levels[level]}
    yield Fact("findings", counts, "map", wide=True)
    texts = [counted(count, level, "info" if level == "info" else "") for level, count in counts.items()]
    if text := ", ".join(texts) or none:
        yield Fact("findings", text, spoken=True)


def _order(finding: Finding) -> tuple[Any, ...]:
    level = SEVERITIES.index(finding.severity)
    return level, finding.rule.rank, -finding.weight, finding.rule.code, finding.subject, finding.text


def row_of(finding: Finding) -> tuple[Any, ...]:
    """Return a finding as a row of COLUMNS."""
    evidence = [place.to_json() for place in _by_time(_evidence(finding))[:MOST_EVIDENCE]]
    return (
        finding.rule.code,
        finding.severity,
        finding.subject,
        finding.text,
        evidence,
        finding.meaning,
        finding.advice,
        [*finding.rule.see],
        finding.command,
    )


def _evidence(finding: Finding) -> list[Evidence]:
    return [evidence_of(place) for place in finding.places]


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
        rule = finding.rule
        yield Item(0, f"{finding.severity.upper()} {rule.code}", finding.subject, finding.severity)
        yield Item(1, finding.text)
        if finding.places:
            yield Item(1, f"Evidence: {places(_evidence(finding))}")
        texts = (rule.code, finding.meaning, finding.advice)
        if texts not in explained:
            explained.add(texts)
            yield Item(1, f"Meaning: {finding.meaning}")
            yield Item(1, f"Do: {finding.advice}")
        see = [*([command_text(finding.command, arguments)] if finding.command else []), *rule.see]
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
