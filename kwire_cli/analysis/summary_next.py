"""Commands that a summary proposes: those of the findings, and those that fit what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.diagnosis.model import Finding
    from kwire_cli.analysis.summary_parts import Contents

MOST = 4
"""Commands that are proposed."""
_GROUPS = frozenset({"JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})
_TRANSACTIONS = frozenset({"AddPartitionsToTxn", "EndTxn", "AddOffsetsToTxn", "TxnOffsetCommit"})


def proposals(summary: Contents, findings: Sequence[Finding], arguments: str) -> list[str]:
    """Return the commands that go on from here, with the inputs as they are typed: each command once."""
    proposed: dict[str, None] = {}
    names = set()
    for name, options in [*_of_findings(findings), *_of_contents(summary)]:
        if options or name not in names:
            proposed[" ".join(filter(None, ("kwire", name, arguments, options)))] = None
            names.add(name)
    return [*proposed][:MOST]


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
    is_capture = all(facts.kind != "request-log" for facts in summary.inputs)
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
