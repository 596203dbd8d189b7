"""docs/findings.md: its list of findings is made from the rules, and its table of captures is what diagnose finds."""

import json
import re

import pytest
from kit.commands import ROOT, kwire

from kwire_cli.questions.rule_files import SEVERITIES, rules

PAGE = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- made from the rules: begin -->", "<!-- made from the rules: end -->"
OWN = ROOT.parent / "shared" / "real" / "own"


def by_code():
    return sorted(rules(), key=lambda rule: rule.code)


def made():
    """Return the generated part of the page: links to the findings by severity, and a section for each finding."""
    lines = []
    for severity in SEVERITIES:
        links = [f"[`{kind.code}`](#{kind.code.lower()})" for kind in by_code() if kind.severity == severity]
        lines += [f"- {severity.capitalize()}: {', '.join(links)}"]
    for kind in sorted(by_code(), key=lambda kind: (SEVERITIES.index(kind.severity), kind.code)):
        see = f" *See* {', '.join(kind.see)}." if kind.see else ""
        parts = [
            f"*{kind.severity.capitalize()}.* {kind.title} {kind.meaning}",
            f"*What to do.* {kind.advice['any']}{see}",
        ]
        if by_client := [f"**{client}:** {text}" for client, text in kind.advice_by_family().items()]:
            parts.append(" ".join(by_client))
        parts += [f"*Case {case}.* {text}" for case, text in kind.case_texts()]
        lines += ["", f"### {kind.code}", "\\\n".join(parts)]
    return "\n".join(lines)


def test_the_page_lists_every_finding_as_the_rules_document_it(request):
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    anew = f"{before}{BEGIN}\n\n{made()}\n\n{END}{after}"
    if request.config.getoption("--update"):
        PAGE.write_text(anew, "utf-8")
        text = anew
    assert text == anew, "docs/findings.md is not up to date: run this test with pytest -n 0 --update"


def test_the_list_of_changes_counts_the_findings():
    assert f"reports {len(rules())} kinds of findings" in (ROOT / "CHANGELOG.md").read_text("utf-8")


ROW = re.compile(r"^\| `([\w.-]+)` \| (`.*) \|$", re.MULTILINE)


@pytest.mark.shared
@pytest.mark.slow  # all captures and log directories
def test_the_tables_of_real_inputs_are_what_diagnose_finds():
    """Each finding in them was judged by hand: a new one has to be judged too."""
    text = PAGE.read_text("utf-8").partition("## Real captures, judged by hand")[2]
    judged = {(name, code) for name, found in ROW.findall(text) for code in re.findall(r"`([A-Z_0-9]+)`: ", found)}
    sound = {*re.findall(r"`([\w.-]+)`", text.partition("Captures without an error")[2])}
    inputs = {path.parent.name: path for path in OWN.glob("captures/*/*.pcap*")}
    inputs |= {path.name: path for path in OWN.glob("segments/*") if path.is_dir()}
    assert {name for name, _ in judged} | sound == {*inputs}
    diagnosed = set()
    for name, path in inputs.items():
        done = kwire("diagnose", path, "--severity", "warning", "--format", "json")
        assert done.code == 0, done.err
        diagnosed |= {(name, row["code"]) for row in json.loads(done.out)["tables"]["findings"]}
    assert diagnosed == judged
