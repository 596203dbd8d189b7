"""The rule for sequences of idempotent producers in logs: gaps, repeated batches, and producers that started again.

`ProducerState` finds them, as in `dump --verify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis.model import Finding, Rule, kind_of_query
from kwire_cli.message.roles import is_internal
from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import RESTARTED, ProducerState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.questions.rule_files import Severity

MOST_FINDINGS = 1 << 14
"""Maximum number of findings. Further problems are ignored."""
_KINDS: dict[str, tuple[str, Severity]] = {
    "SEQUENCE_GAP": ("SEQUENCE_GAP", "error"),
    RESTARTED: ("SEQUENCE_GAP", "warning"),
    "SEQUENCE_DUPLICATE": ("DUPLICATE_BATCH", "warning"),
}
"""The kind and the severity of a finding by the code of the problem. The rules for captures use the same kinds."""


class LogSequences(Rule):
    """Sequences in logs, each read in the order of its offsets."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], ProducerState] = {}
        self._findings: list[Finding] = []

    def log_item(self, item: LogItem) -> None:
        """Add a batch of a log. Internal topics are ignored, because their sequences have no meaning."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid or is_internal(item.topic or ""):
            return
        base = batch.head.base_offset
        state = self._states.get(item.log)
        if state is None or base < state.next_offset:  # an earlier part of the log, or another log
            state = self._states[item.log] = ProducerState(base)
        for problem in state.append(batch).problems:
            if problem.code in _KINDS and len(self._findings) < MOST_FINDINGS:
                code, severity = _KINDS[problem.code]
                place = Evidence("batch", file=item.file, offset=base)
                weight = problem.missing or 1
                finding = Finding(
                    kind_of_query(code), f"partition {item.name}", problem.text, [place], weight, severity
                )
                self._findings.append(finding)

    def findings(self) -> Iterator[Finding]:
        """Yield the gaps and the repeated batches."""
        yield from self._findings
