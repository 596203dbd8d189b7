"""docs/stats.md on clients: it names every verdict and fault."""

import re

from kit.commands import ROOT

from kwire_cli.analysis.clients import VERDICTS

PAGE = ROOT / "docs" / "stats.md"


def test_every_verdict_and_fault_is_named():
    text = PAGE.read_text("utf-8")
    source = "".join(file.read_text("utf-8") for file in (ROOT / "kwire_cli/source/request_log").glob("*.py"))
    faults = re.findall(r'LineFault\([^,]*,\s*"([A-Z_]+)"', source)
    assert len({*faults}) == 4
    assert [name for name in (*VERDICTS, *faults) if f"`{name}`" not in text] == []
