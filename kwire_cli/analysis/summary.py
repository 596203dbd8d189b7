"""The question what captures and logs hold, and what matters most in them.

Traffic is counted by the queries in `questions/summary`, over the tables that the diagnosis fills. Batches of logs are
counted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS as FINDINGS, count_facts, row_of
from kwire_cli.analysis.summary_next import proposals
from kwire_cli.analysis.summary_parts import Contents
from kwire_cli.analysis.summary_tables import numbers_of, tables_of
from kwire_cli.analysis.summary_text import sentences, spoken_findings
from kwire_cli.answer import Answer, Column, Fact, Facts, Table

if TYPE_CHECKING:
    from kwire_cli.answer import Block

_NEXT = (Column("command"),)


class Summary(Contents):
    """The contents of inputs, and what matters most in them."""

    def answer(self, arguments: str = "INPUT") -> Answer:  # type: ignore[override] # it shows findings of any severity
        """Return the summary. `arguments` are the inputs as they are typed, for the commands that it proposes."""
        findings = self.findings()
        following = proposals(self, findings, arguments)
        spoken = [Fact(name, text, level=level, spoken=True) for name, text, level in sentences(self)]
        counts, *said = count_facts(findings, "none by the rules of kwire diagnose")
        about = [*numbers_of(self), counts]
        blocks: list[Block] = [
            Facts(spoken),
            Facts([fact for fact in about if fact.value is not None]),
            *tables_of(self),
            Table("findings", FINDINGS, [row_of(finding) for finding in findings], wide=True),
            Table("next", _NEXT, [(command,) for command in following], wide=True),
            Facts([*said, *spoken_findings(findings, arguments)]),
            Facts([Fact(" " if at else "next", command, spoken=True) for at, command in enumerate(following)]),
        ]
        return Answer("summary", blocks)
