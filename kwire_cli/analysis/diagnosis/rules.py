"""The rules of the diagnosis in Python, one line each, and the kinds of findings of all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.batches import Batches
from kwire_cli.analysis.diagnosis.model import FindingKind, kind_of
from kwire_cli.questions import rule_files

if TYPE_CHECKING:
    from kwire_cli.analysis.diagnosis.model import Rule

RULES: tuple[type[Rule], ...] = (Batches,)


def kinds() -> list[FindingKind]:
    """Return the kinds of findings of all rules, by code."""
    of_rules = [kind_of(rule) for rule in rule_files.rules()]
    for rule in RULES:
        of_rules += rule.KINDS
    return sorted(of_rules, key=lambda kind: kind.code)
