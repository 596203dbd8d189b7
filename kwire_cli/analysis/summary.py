"""The summary of captures and logs: their contents, the findings, and commands for details.

The queries in `questions/summary` count traffic in the tables that the diagnosis fills, so that the input is read once.
`summary_parts` counts batches of logs. The proposed commands come from the findings, and from the apis in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS as FINDINGS, count_facts, row_of
from kwire_cli.analysis.summary_parts import Contents
from kwire_cli.analysis.summary_tables import numbers_of, tables_of
from kwire_cli.analysis.summary_text import sentences, spoken_findings
from kwire_cli.answer import Answer, Column, Fact, Facts, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Block
    from kwire_cli.questions.diagnose import Finding

_NEXT = (Column("command"),)
MOST_COMMANDS = 4
"""Maximum number of commands that are proposed."""
_GROUPS = frozenset({"JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})
_TRANSACTIONS = frozenset({"AddPartitionsToTxn", "EndTxn", "AddOffsetsToTxn", "TxnOffsetCommit"})


class Summary(Contents):
    """The contents of inputs, and the most important findings."""

    def answer(self, arguments: str = "INPUT") -> Answer:  # type: ignore[override] # it shows findings of any severity
        """Return the summary. `arguments` are the inputs on the command line, for the proposed commands."""
        findings = self.findings()
        following = proposals(self, findings, arguments)
        spoken = [Fact(name, text, level=level, spoken=True) for name, text, level in sentences(self)]
        counts, *in_words = count_facts(findings, self.nothing_found())
        about = [*numbers_of(self), counts]
        blocks: list[Block] = [
            Facts(spoken),
            Facts([fact for fact in about if fact.value is not None]),
            *tables_of(self),
            Table("findings", FINDINGS, [row_of(finding) for finding in findings], wide=True),
            Table("next", _NEXT, [(command,) for command in following], wide=True),
            Facts([*in_words, *spoken_findings(findings, arguments)]),
            Facts([Fact(" " if at else "next", command, spoken=True) for at, command in enumerate(following)]),
        ]
        return Answer("summary", blocks)


def proposals(summary: Contents, findings: Sequence[Finding], arguments: str) -> list[str]:
    """Return the commands that show details, with the inputs on the command line. Each command occurs once."""
    proposed: dict[str, None] = {}
    names = set()
    for name, options in [*_of_findings(findings), *_of_contents(summary)]:
        if options or name not in names:
            proposed[" ".join(filter(None, ("kwire", name, arguments, options)))] = None
            names.add(name)
    return [*proposed][:MOST_COMMANDS]


def _of_findings(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield the commands of the findings that matter most: `groups --group billing` takes its inputs in between."""
    proposed = set()
    for finding in findings:
        if finding.command:
            name, _, options = finding.command.partition(" ")
            if name not in proposed:  # the same for other subjects is easy to type
                yield name, options
            proposed.add(name)


def _of_contents(summary: Contents) -> Iterator[tuple[str, str]]:
    apis = {row["api"]: row["timed"] for row in summary.rows_found("apis")}
    if summary.logs.partitions:
        yield "dump", "--verify"
        yield "overhead", ""
        yield "dump", "--deep --top 10"
        return
    if not apis:
        if any(row["what"] == "encrypted" for row in summary.rows_found("missing")):
            yield "summary", "--tls-keylog KEYLOG"
        yield "decode", ""
        return
    is_capture = all(facts.kind == "capture" for facts in summary.inputs)
    has_errors = bool(summary.rows_found("errors"))
    if has_errors and is_capture:
        yield "decode", "--filter error --pairs"
    if apis.keys() & _GROUPS:
        yield "groups", ""
    if apis.keys() & _TRANSACTIONS:
        yield "transactions", ""
    if is_capture:
        yield "sequence", "--filter error" if has_errors else ""
        if any(apis.values()):
            yield "decode", "--sort latency --top 10"
    yield "stats", ""
    yield "clients", ""
